"""What all charts share, and charts made into pictures and scripts inside this process: no browser, no network.

Charts name the classes of their channels, `alt.X2("high:Q")`: for each one that is a text or a condition, the library
goes through its whole schema, which took a third of the time for drawing.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ghx_base.files.atomic_files import write_atomically
from ghx_profiler.reports.render.escaping import visible
from ghx_profiler.reports.report_document import Chart

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        """Altair, loaded by the first chart: that takes 0.2 s, which a report without charts does not have to wait."""

        def __getattr__(self, name: str) -> object:
            return getattr(import_module("altair"), name)

    alt = _Altair()

MOST_MARKS = 5_000
PALETTE = ("#6b7480", "#1f6feb", "#8250df", "#bf5b04", "#0f7d8a", "#b3403a", "#2b7a5b", "#8a6500")
"""The colours of arms, those of the first screen (`page.css`) in shades that are seen on light and dark paper."""
LONGEST_LABEL = 260
Values = list[dict[str, Any]]


def is_bounded(value: Mapping[str, Any]) -> bool:
    """Return whether an interval can be drawn; a chart of none at all complains."""
    return value["low"] is not None and value["high"] is not None


def chart_of(
    name: str, title: str, description: str, chart: "alt.Chart | alt.LayerChart | alt.FacetChart", values: Values
) -> Chart:
    """Return a chart of these values with its specification, as wide as there is room.

    Charts and layers without values show these; the library, which copies values at every step, never sees them.
    """
    sized = chart.properties(width="container")
    # Checked against the schema in the tests; at run time that would only cost time.
    spec: dict[str, Any] = sized.to_dict(validate=False)
    for part in (spec, *spec.get("layer", ())):
        if part.get("data") == _NO_DATA:
            del part["data"]
    spec.pop("datasets", None)
    spec["data"] = {"values": values}
    return Chart(
        name=name, title=title, description=visible(description), spec=cast("dict[str, Any]", _make_visible(spec))
    )


_NO_DATA = {"name": "empty"}
"""What the library writes for a chart without data."""


def _make_visible(value: object) -> object:
    """Return a specification without control characters: one of them ends the process that draws it."""
    match value:
        case str():
            return visible(value)
        case list():
            return [_make_visible(each) for each in cast("list[object]", value)]
        case dict():
            return {visible(key): _make_visible(each) for key, each in cast("dict[str, object]", value).items()}
        case _:
            return value


def mode_color(modes: Sequence[str]) -> "alt.Color":
    """Return the colour of each mode, the same in every chart."""
    colors = [PALETTE[number % len(PALETTE)] for number in range(len(modes))]
    return alt.Color("mode:N", scale=alt.Scale(domain=list(modes), range=colors), legend=legend())


def legend() -> "alt.Legend":
    """Return a legend above a chart."""
    return alt.Legend(orient="top", title=None, labelLimit=LONGEST_LABEL, columns=2, symbolOpacity=1)


def axis_title(label: str, unit: str) -> str:
    """Return the title of an axis: what it shows, and in which unit."""
    return f"{label}, {unit}" if unit else label


_WIDTH = 720
_CONFIG: dict[str, Any] = {
    "background": "#ffffff",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "#1d2126",
        "titleColor": "#5b636e",
        "gridColor": "#dfe2e6",
        "titleFontWeight": "normal",
        "labelOverlap": "greedy",
        "labelSeparation": 8,
    },
    "legend": {"labelColor": "#1d2126"},
    "rule": {"color": "#5b636e"},
}


def chart_svg(chart: Chart) -> str:
    """Return a chart as a picture for paper and for Markdown, with its description inside."""
    import vl_convert  # noqa: PLC0415 - a JavaScript engine: loaded only where something is drawn

    spec = {**chart.spec, "width": _WIDTH, "description": chart.description, "config": _CONFIG}
    return vl_convert.vegalite_to_svg(spec)


_BUNDLE_EXPORT = "window.vegaEmbed = vegaEmbed;"
_KEPT_FORMAT = 1  # of the kept file: a digest on the first line, the bundle after it


@cache
def chart_bundle() -> str:
    """Return the JavaScript that draws charts in a page.

    Making it takes longer than the rest of a small report, and it is the same for a version of vl-convert: it is kept
    in the user's cache folder, where that can be written and what lies there is the user's own.
    """
    folder = _cache_folder(os.environ)
    cached = None if folder is None else folder / f"charts-{_KEPT_FORMAT}-{version('vl-convert-python')}.js"
    if cached is not None and (bundle := _read_cached(cached)) is not None:
        return bundle
    import vl_convert  # noqa: PLC0415 - the same

    # The bundle must not end its own script element.
    bundle = vl_convert.javascript_bundle(_BUNDLE_EXPORT).replace("</script", "<\\/script")
    if cached is not None:
        with suppress(OSError):
            write_atomically(cached, f"{_digest(bundle)}\n{bundle}".encode(), durable=False)
            cached.chmod(0o600)  # where a user's files may be written by a group, it would not be used
            cached.parent.chmod(0o700)
    return bundle


def _cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return our folder for what can be made again; `None` where the environment names neither cache nor home."""
    # The XDG Base Directory Specification requires that relative paths are ignored.
    if (cache_home := Path(environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return cache_home / "ghx-bench"
    if not (home := Path(environ.get("HOME", ""))).is_absolute():
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ghx-bench"


def _read_cached(path: Path) -> str | None:
    """Return the bundle cached by an earlier report; `None` if it is missing, damaged or outdated.

    It becomes part of pages that others open, so a file writable by other users is not used.
    """
    try:
        with path.open("rb") as file:
            if not _is_private(os.fstat(file.fileno())) or not _is_private(path.parent.stat()):
                return None
            digest, _, bundle = file.read().decode().partition("\n")
    except (OSError, ValueError):
        return None
    return bundle if digest == _digest(bundle) else None


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(bundle: str) -> str:
    return hashlib.sha256((_BUNDLE_EXPORT + bundle).encode()).hexdigest()
