"""A provider of models: the way to its API, and the key, which the meter keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ghx_base.errors import InputError
from ghx_profiler.agents.metering.upstream import HttpProxy, HttpUpstream, Upstream


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    """The upstream of a wire, and the real key, which stays here."""

    name: str
    upstream: Upstream
    key: str | None = field(default=None, repr=False)
    session_header: str | None = None
    """The header with the id of the session, for scripted providers, which follow one script per session."""
    replayed_run: str | None = None
    """The id of the run whose recorded answers are replayed; no model is called."""

    @classmethod
    def at(
        cls, name: str, base_url: str, *, key_variable: str | None, environment: Mapping[str, str]
    ) -> "ModelProvider":
        """Return the provider at an address, with the key that is in a variable; local servers may need none.

        It is reached through the proxy that the environment names for it, if any.
        """
        key = None if key_variable is None else environment.get(key_variable)
        if key_variable is not None and not key:
            raise InputError(f"model provider {name!r}: the variable {key_variable} is not set; put its key there")
        return cls(name=name, upstream=HttpUpstream(base_url, HttpProxy.find(base_url, environment)), key=key)
