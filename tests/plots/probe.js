// Looks at pages of the report, each inside a frame as wide as a phone, and tells the console what is
// wrong with them, one after the other.
"use strict";

function column(table, index) {
  return Array.from(table.tBodies[0].rows, row => row.cells[index].textContent.trim());
}

// Numbers by size, then texts.
function inOrder(a, b) {
  const number = text => Number(text.replace(/^(.+)%$/, "$1e-2"));
  const numeric = text => text !== "" && Number.isFinite(number(text));
  if (numeric(a) && numeric(b)) return number(a) <= number(b);
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

// Waits until `condition` holds; the test's own limit ends what never does.
async function until(condition) {
  while (!condition()) await new Promise(done => setTimeout(done, 5));
}

// Opens what is folded and waits for the rows of claims, which come from files, and for every image.
async function unfolded(page) {
  page.querySelectorAll("details").forEach(part => { part.open = true; });
  await until(() => !page.querySelector("details.claim .rows:not([data-filled])"));
  await Promise.all(Array.from(page.images, image => {
    image.loading = "eager";
    return image.decode().catch(() => {});
  }));
}

function pageProblems(page) {
  const root = page.documentElement, problems = [];
  if (root.scrollWidth > root.clientWidth)
    problems.push(`${root.scrollWidth} wide in ${root.clientWidth}`);
  for (const image of page.images)
    if (!image.complete || image.naturalWidth === 0) problems.push(`no image ${image.src}`);
    else if (!image.alt) problems.push(`no alternative text of ${image.src}`);
  return [...problems, ...keyboardProblems(page), ...contrastProblems(page),
          ...sortProblems(page)];
}

// What scrolls or acts has to be reached by keyboard, and a name.
function keyboardProblems(page) {
  const named = part => part.textContent.trim() || part.getAttribute("aria-label") ||
    part.labels?.[0]?.textContent.trim() || part.querySelector("img")?.alt;
  return [
    ...Array.from(page.querySelectorAll("a, button, input, select, summary"))
      .filter(part => !named(part)).map(part => `no name of ${part.outerHTML.slice(0, 60)}`),
    ...Array.from(page.querySelectorAll(".scroll"))
      .filter(part => part.tabIndex !== 0).map(() => "a part that scrolls takes no focus")];
}

function luminance(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function backdrop(part) {
  for (let own = part; own; own = own.parentElement) {
    const colour = getComputedStyle(own).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent") return colour;
  }
  return "rgb(255, 255, 255)";
}

// Text against its background, by WCAG 2 at level AA: 4.5 to 1.
function contrastProblems(page) {
  const seen = new Map();
  for (const part of page.body.querySelectorAll("*")) {
    const own = Array.from(part.childNodes).some(node => node.nodeType === 3 && node.data.trim());
    if (!own || part.tagName === "SCRIPT") continue;
    const colour = getComputedStyle(part).color, behind = backdrop(part);
    const [light, dark] = [luminance(colour), luminance(behind)].sort((a, b) => b - a);
    if ((light + 0.05) / (dark + 0.05) < 4.5) seen.set(`${colour} on ${behind}`, part.className);
  }
  return Array.from(seen, ([pair, name]) => `too little contrast: ${pair} (${name})`);
}

// What a test asks beyond the faults above: `steps` is the text of an async function's body.
function look(frame, steps) {
  const AsyncFunction = (async () => {}).constructor;
  return steps ? new AsyncFunction("page", "frame", steps)(frame.contentDocument, frame) : null;
}

async function findings(frame) {
  const told = await look(frame, document.getElementById("steps").textContent);
  const page = frame.contentDocument;
  await unfolded(page);
  return { width: page.documentElement.clientWidth, told,
           tables: page.querySelectorAll("table.sortable").length, problems: pageProblems(page) };
}

window.addEventListener("load", async () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const found = await findings(frame).catch(error => ({ error: String(error) }));
    console.log(`FOUND ${JSON.stringify(found)}`);
  }
});
