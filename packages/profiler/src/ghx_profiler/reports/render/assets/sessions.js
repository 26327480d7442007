"use strict";
(() => {
  const table = document.querySelector("table.sessions");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const form = document.querySelector(".filters");
  const fields = Array.from(form.querySelectorAll("[name]"));
  const count = document.getElementById("count");

  function filter() {
    const wanted = fields.filter((field) => field.value !== "");
    let shown = 0;
    for (const row of rows) {
      const fits = wanted.every((field) => field.name === "text"
        ? row.textContent.toLowerCase().includes(field.value.toLowerCase())
        : row.dataset[field.name] === field.value);
      row.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${rows.length} shown${explain(wanted, shown)}`;
    const words = new URLSearchParams(wanted.map((field) => [field.name, field.value]));
    history.replaceState(null, "", words.size ? `#${words}` : location.pathname + location.search);
  }

  // A cell of the report's matrix counts all its sessions, and leads here: say where the others are.
  function explain(wanted, shown) {
    if (!wanted.length || wanted.some((field) => field.name !== "scenario" && field.name !== "arm")) return "";
    const cells = new Map(rows.filter((row) => !row.hidden).map(
      ({dataset}) => [JSON.stringify([dataset.scenario, dataset.arm]), Number(dataset.sessions)]));
    const every = Array.from(cells.values()).reduce((sum, number) => sum + number, 0);
    return every > shown ? `, of ${every} sessions: ${count.dataset.choice}` : "";
  }

  // A copied address shows what was shown, and other pages of the report lead to a part of the list.
  function read() {
    const words = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) field.value = words.get(field.name) ?? "";
    filter();
  }

  function sort(column, heading) {
    const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const compare = (one, other) => {
      const [a, b] = [key(one), key(other)];
      // What is not known comes last, whichever way the list is sorted.
      if (a === "" || b === "") return (a === "") - (b === "");
      const [x, y] = [Number(a), Number(b)];
      return direction * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y);
    };
    body.append(...rows.sort(compare));
  }

  for (const [column, heading] of Array.from(table.tHead.rows[0].cells).entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => sort(column, heading));
    heading.replaceChildren(button);
  }
  form.hidden = false;
  form.addEventListener("input", filter);
  form.querySelector("button").addEventListener("click", () => {
    for (const field of fields) field.value = "";
    filter();
  });
  window.addEventListener("hashchange", read);
  read();
})();
