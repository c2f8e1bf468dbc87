// Looks at a page of the report inside a frame as wide as a phone and writes what is wrong with it.
"use strict";

function column(table, index) {
  return Array.from(table.tBodies[0].rows, row => row.cells[index].textContent.trim());
}

// Numbers by size, then texts.
function inOrder(a, b) {
  const numeric = text => text !== "" && Number.isFinite(Number(text));
  if (numeric(a) && numeric(b)) return Number(a) <= Number(b);
  if (numeric(a) !== numeric(b)) return numeric(a);
  return a.localeCompare(b) <= 0;
}

function sortProblems(page) {
  const problems = [];
  for (const table of page.querySelectorAll("table.sortable")) {
    const label = table.parentNode.getAttribute("aria-label");
    Array.from(table.tHead.rows[0].cells).forEach((heading, index) => {
      for (const direction of ["ascending", "descending"]) {
        heading.querySelector("button")?.click();
        const texts = column(table, index);
        if (direction === "descending") texts.reverse();
        const wrong = texts.findIndex((text, i) => i > 0 && !inOrder(texts[i - 1], text));
        if (wrong > 0 || heading.getAttribute("aria-sort") !== direction)
          problems.push(`${label}: column ${index} is not ${direction}`);
      }
    });
  }
  return problems;
}

function pageProblems(page) {
  const root = page.documentElement, problems = [];
  if (root.scrollWidth > root.clientWidth)
    problems.push(`${root.scrollWidth} wide in ${root.clientWidth}`);
  for (const image of page.images)
    if (!image.complete || image.naturalWidth === 0) problems.push(`no image ${image.src}`);
    else if (!image.alt) problems.push(`no alternative text of ${image.src}`);
  return [...problems, ...sortProblems(page)];
}

window.addEventListener("load", () => {
  const frame = document.querySelector("iframe").contentDocument;
  const tables = frame.querySelectorAll("table.sortable").length;
  document.getElementById("result").textContent =
    JSON.stringify({ width: frame.documentElement.clientWidth, tables, problems: pageProblems(frame) });
});
