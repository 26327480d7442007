"use strict";
(() => {
  // Numbers are compared as numbers, whatever unit is behind them; what is not known comes last.
  function keyOf(cell) {
    const text = cell.textContent.trim();
    const found = text.replaceAll(",", "").match(/^[<>$+×-]*\s*(-?\d+(\.\d+)?)/);
    return { text, number: found ? Number(found[1]) * (text.startsWith("-") ? -1 : 1) : null };
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

  // `#task=x&mode=y` shows the rows that say exactly that in the columns of these names.
  function wanted(table) {
    const names = Array.from(table.tHead.rows[0].cells, (head) => head.textContent.trim());
    return Array.from(new URLSearchParams(location.hash.slice(1)))
      .map(([name, value]) => [names.indexOf(name), value])
      .filter(([column]) => column >= 0);
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
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean), cells = wanted(table);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden =
          !words.every((word) => text.includes(word)) ||
          !cells.every(([column, value]) => row.cells[column].textContent.trim() === value);
        shown += !row.hidden;
      }
      told.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
      if (cells.length) {
        const all = document.createElement("a");
        all.href = "#";
        all.textContent = "show all";
        told.append(" ", all);
      }
    };
    input.addEventListener("input", show);
    window.addEventListener("hashchange", show);
    show();
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
