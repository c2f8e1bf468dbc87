// Sorts a table by the column whose heading is pressed; numbers by value, the rest as text.
"use strict";

function cellKey(row, column) {
  const text = row.cells[column].textContent.trim();
  const value = text.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text);
  return text !== "" && !Number.isNaN(value) ? value : text;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b);
}

function sortBy(table, heading) {
  const ascending = heading.getAttribute("aria-sort") !== "ascending";
  const column = heading.cellIndex;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  rows.sort((a, b) => compare(cellKey(a, column), cellKey(b, column)) * (ascending ? 1 : -1));
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  body.append(...rows);
}

// Cells that say the same as the one above came as ditto marks.
function fillDittos(body) {
  for (let row = body.rows[1]; row; row = row.nextElementSibling)
    Array.from(row.cells).forEach((cell, column) => {
      if (cell.textContent.trim() === '"')
        cell.textContent = row.previousElementSibling.cells[column].textContent;
    });
}

function makeSortable(table) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, heading));
    heading.append(button);
  }
}

// Folded parts that hold what the address names are opened.
function unfold() {
  const name = decodeURIComponent(location.hash.slice(1));
  const target = name && document.getElementById(name);
  for (let part = target; part; part = part.parentElement)
    if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
}

document.querySelectorAll("table.sortable").forEach(table => {
  fillDittos(table.tBodies[0]);
  makeSortable(table);
});
window.addEventListener("hashchange", unfold);
unfold();
// Paper shows what a screen folds away, but for the drawers of claims.
window.addEventListener("beforeprint", () => document.querySelectorAll("details:not(.claim)")
  .forEach(part => { part.open = true; }));
