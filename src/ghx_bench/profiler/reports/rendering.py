"""Charts made into pictures and scripts, by a program inside this process: no browser, no network."""

from functools import cache
from typing import Any

from ghx_bench.profiler.reports.document import Chart

_WIDTH = 720
_CONFIG: dict[str, Any] = {
    "background": "#ffffff",
    "view": {"stroke": None},
    "axis": {"labelColor": "#1d2126", "titleColor": "#5b636e", "gridColor": "#dfe2e6", "titleFontWeight": "normal"},
    "legend": {"labelColor": "#1d2126"},
    "rule": {"color": "#5b636e"},
}


def chart_svg(chart: Chart) -> str:
    """Return a chart as a picture for paper and for Markdown, with its description inside."""
    import vl_convert  # noqa: PLC0415 - a JavaScript engine: loaded only where something is drawn

    spec = {**chart.spec, "width": _WIDTH, "description": chart.description, "config": _CONFIG}
    return vl_convert.vegalite_to_svg(spec)


@cache
def chart_bundle() -> str:
    """Return the JavaScript that draws charts in a page; making it takes longer than the rest of a small report."""
    import vl_convert  # noqa: PLC0415 - the same

    # The bundle must not end its own script element.
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
