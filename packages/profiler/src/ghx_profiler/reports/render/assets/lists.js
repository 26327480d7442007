"use strict";
(() => {
  // Numbers are compared as numbers, whatever unit is behind them; what is not known comes last.
  function keyOf(cell) {
    const text = cell.textContent.trim();
    const found = text.replaceAll(",", "").match(/^([<>$+×-]*)\s*(\d+(\.\d+)?)(?: (ms|s|min)\b)?/);
    if (!found) return { text, number: null };
    const unit = { s: 1000, min: 60000 }[found[4]] || 1;
    return { text, number: Number(found[2]) * unit * (found[1].includes("-") ? -1 : 1) };
  }

  function compare(one, other) {
    if (one.number !== null && other.number !== null && one.number !== other.number) return one.number - other.number;
    if ((one.number === null) !== (other.number === null)) return one.number === null ? 1 : -1;
    return one.text.localeCompare(other.text, "en", { numeric: true });
  }

  function addSorting(table, rows) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
        rows.sort((one, other) => compare(keys.get(one), keys.get(other)) * (falls ? -1 : 1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  function addFilter(table, rows) {
    const bar = document.createElement("p"), label = document.createElement("label");
    const input = document.createElement("input"), told = document.createElement("output");
    bar.className = "filter";
    input.type = "search";
    label.append("Filter ", input);
    bar.append(label, " ", told);
    table.closest(".scroll").before(bar);
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      told.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    };
    input.addEventListener("input", show);
  }

  for (const table of document.querySelectorAll("table.list")) {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length > 1) addSorting(table, rows);
    if (rows.length > 15) addFilter(table, rows);
  }

  function openTarget() {
    const id = decodeURIComponent(location.hash.slice(1));
    const found = id && document.getElementById(id);
    const details = found && found.querySelector(":scope > details");
    if (details) details.open = true;
  }

  window.addEventListener("hashchange", openTarget);
  openTarget();
})();
