"""Where code of others is called: whatever it raises becomes a value, and only an interruption of ours passes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.lowlevel

from ghx_bench.profiler.causes import MeasurementError
from ghx_bench.profiler.phases import allow

T = TypeVar("T")


class PluginError(MeasurementError):
    """A plugin raised what no plugin may raise, or returned what it may not return."""

    code = "PLUGIN_MISBEHAVED"


@dataclass(slots=True)
class Caught:
    """What a plugin raised, if anything."""

    error: Exception | None = None


@asynccontextmanager
async def plugin_call(shield: anyio.CancelScope | None = None) -> AsyncGenerator[Caught]:
    """Catch everything that is raised inside, except an interruption of ours and a real Ctrl-C.

    `shield` is the scope that was shielded to let the plugin clean up; the shield ends here.

    A plugin that turns our cancellation into an error of its own does not get away with it: the cancellation goes on.
    One that raises a cancellation of its own making, or ends the process, has failed, and that is all.
    """
    caught = Caught()
    try:
        yield caught
    except Exception as error:  # noqa: BLE001 - plugin call: this is the boundary
        caught.error = error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _lift(shield)
        if isinstance(error, anyio.get_cancelled_exc_class()) and _is_interrupted():
            raise
        caught.error = PluginError(f"raised {type(error).__name__}, which only the bench may ({error})")
        caught.error.__cause__ = error
    _lift(shield)
    await anyio.lowlevel.checkpoint_if_cancelled()


def require(value: object, kind: type[T], what: str) -> T:
    """Return what a plugin returned, or refuse it if it is not of the kind its contract names."""
    if not isinstance(value, kind):
        raise PluginError(f"{what} has to return {kind.__name__}, not {type(value).__name__}")
    return value


def _lift(shield: anyio.CancelScope | None) -> None:
    if shield is not None:
        allow(shield)


def _is_interrupted() -> bool:
    return anyio.current_effective_deadline() == float("-inf")
