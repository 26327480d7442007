"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const ink = colour("--ink"), faint = colour("--line"), quiet = colour("--quiet");
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      view: { stroke: null },
      axis: {
        labelColor: ink, titleColor: quiet, gridColor: faint, domainColor: faint, tickColor: faint,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelOverlap: "greedy", labelSeparation: 8,
      },
      legend: {
        labelColor: ink, titleColor: quiet, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
        symbolBaseFillColor: quiet, symbolBaseStrokeColor: quiet,
      },
      text: { color: ink },
      rule: { color: quiet },
    };
  }

  async function draw(place) {
    const options = {
      actions: false, renderer: "svg", config: theme(),
      tooltip: { theme: dark.matches ? "dark" : "light" },
    };
    try {
      await window.vegaEmbed(place, specs[place.dataset.chart], options);
    } catch (error) {
      place.textContent = `This chart could not be drawn: ${error.message}`;
      console.error(error);
    }
  }

  // A chart takes its width from its place, which a closed section does not have: it is drawn when that is opened.
  async function drawVisible() {
    for (const place of document.querySelectorAll("[data-chart]")) {
      if (!place.closest("details:not([open])") && place.dataset.scheme !== String(dark.matches)) {
        place.dataset.scheme = String(dark.matches);
        await draw(place);
      }
    }
    document.documentElement.dataset.drawn = "yes";
  }

  dark.addEventListener("change", drawVisible);
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", drawVisible);
  drawVisible();
})();
