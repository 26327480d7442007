"""A private certificate authority for one server, so that clients find GitHub under its own names with TLS."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ghx_base.askpass import write_private

_EARLIER, _LATER = timedelta(days=1), timedelta(days=30)  # clocks that are wrong, and runs that take long
# Where systems keep their roots, for a Python that was built elsewhere and looks for them in other places.
_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, Alpine
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """What a server shows its clients, and the files by which they trust it."""

    context: ssl.SSLContext
    authority: Path  # the authority's certificate alone, for clients that add it to their own roots
    bundle: Path  # the same with the system's roots, for clients that read one file and no other


def make_certificates(folder: Path, hosts: Sequence[str]) -> Certificates:
    """Make an authority, let it sign one certificate for `hosts`, and write what clients need into a private folder.

    The key of the authority is never written and is gone when this returns: nothing can be signed with it any more.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = _sign_authority(key)
    context = _server_context(folder, issuer, key, hosts)
    authority, bundle = folder / "authority.pem", folder / "certificates.pem"
    ours = issuer.public_bytes(Encoding.PEM)
    authority.write_bytes(ours)
    bundle.write_bytes(_system_roots() + ours)
    return Certificates(context=context, authority=authority, bundle=bundle)


def _sign_authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("ghx-twin authority of one run")
    usage = x509.KeyUsage(
        key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )


def _server_context(
    folder: Path, issuer: x509.Certificate, issuer_key: ec.EllipticCurvePrivateKey, hosts: Sequence[str]
) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    certificate = (
        _builder(_name(hosts[0]), issuer.subject, key)
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(identifier, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    file = folder / "server.pem"
    try:  # Python loads keys from files only: this one is private, and there for a millisecond
        write_private(file, (certificate.public_bytes(Encoding.PEM) + secret).decode())
        context.load_cert_chain(file)
    finally:
        file.unlink(missing_ok=True)
    return context


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LATER)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _system_roots() -> bytes:
    """Return the certificates that programs here trust otherwise; none where the system keeps them in no file."""
    for place in filter(None, (ssl.get_default_verify_paths().cafile, *_ROOTS)):
        try:
            return Path(place).read_bytes().rstrip() + b"\n"
        except OSError:
            continue
    return b""
