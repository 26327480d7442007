"""Sessions in third-party formats: ATIF trajectories, both ways, and OpenTelemetry spans."""

from ghx_profiler.interchange.atif import AgentInfo, to_atif
from ghx_profiler.interchange.atif_reading import from_atif
from ghx_profiler.interchange.errors import BadTrajectoryError, ExportDirectoryError, NothingToExportError
from ghx_profiler.interchange.export import Exported, export_run
from ghx_profiler.interchange.otel import to_otlp

__all__ = [
    "AgentInfo",
    "BadTrajectoryError",
    "ExportDirectoryError",
    "Exported",
    "NothingToExportError",
    "export_run",
    "from_atif",
    "to_atif",
    "to_otlp",
]
