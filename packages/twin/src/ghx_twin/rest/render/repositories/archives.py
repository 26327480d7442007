"""Files as one zip, the same bytes for the same files."""

import io
import zipfile
from collections.abc import Mapping

_FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return files, by path, as a zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _FIRST_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return content.getvalue()
