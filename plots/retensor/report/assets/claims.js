// The page of claims: search and filters, kept in the address, and the rows of an opened claim.
"use strict";

const form = document.getElementById("filter");
const drawers = Array.from(document.querySelectorAll("details.claim"));
const NAMES = ["paper", "outcome", "verdict", "kind", "asks", "data"];  // of the fields of data-of
const facets = new Map(drawers.map(drawer => [drawer, Object.fromEntries(
  drawer.dataset.of.split("|").map((value, place) => [NAMES[place], value]))]));
const taken = {};  // paper -> what its file of rows holds

// What a search looks at: the statement, and what its drawer says, without the names of its lines.
function words(drawer) {
  const parts = drawer.querySelectorAll("summary, dd:not(:has(pre))");
  return Array.from(parts, part => part.textContent.toLowerCase()).join(" ");
}

const texts = new Map(drawers.map(drawer => [drawer, words(drawer)]));

function fits(drawer, wanted) {
  return Object.entries(wanted).every(([name, value]) => name === "text"
    ? value.trim().toLowerCase().split(/\s+/).every(word => texts.get(drawer).includes(word))
    : facets.get(drawer)[name] === value);
}

function chosen() {
  return Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim() !== ""));
}

function applyFilter() {
  const wanted = chosen();
  let shown = 0;
  for (const drawer of drawers) {
    drawer.hidden = !fits(drawer, wanted);
    shown += !drawer.hidden;
  }
  document.getElementById("shown").textContent = shown === drawers.length
    ? `${shown} claims` : `${shown} of ${drawers.length} claims`;
}

function keepInAddress() {
  try {
    const query = new URLSearchParams(chosen()).toString();
    history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
  } catch { /* some browsers refuse it for files on a disk */ }
}

function readAddress() {
  for (const [name, value] of new URLSearchParams(location.search))
    if (form.elements[name]) form.elements[name].value = value;
}

function element(name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

function line(name, texts) {
  const row = element("tr");
  row.append(...texts.map(text => text instanceof Node ? text : element(name, text)));
  return row;
}

function sessionCell(id) {
  const link = element("a", id), cell = element("td");
  link.href = `machines.html#session-${id}`;
  cell.append(link);
  return cell;
}

function summed(steps) {
  let sum = 0;
  return steps.map(step => sum += step);
}

function rowsTable(label, file, own) {
  const table = element("table"), head = element("thead"), body = element("tbody");
  table.className = "sortable";
  head.append(line("th", [file.labels[own.value], ...file.columns, "session"]));
  const [places, values] = file.values[own.value];
  const valueAt = new Map(summed(places).map((place, index) => [place, values[index]]));
  for (const place of summed(own.rows)) {
    const row = file.rows[place].map(number => file.texts[number]);
    body.append(line("td", [valueAt.get(place), ...row.slice(0, -1), sessionCell(row.at(-1))]));
  }
  table.append(head, body);
  const frame = element("div");
  frame.className = "scroll";
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", label);
  frame.append(table);
  makeSortable(table);
  return frame;
}

function fill(holder, paper) {
  const id = holder.parentElement.id.replace(/^claim-/, ""), file = taken[paper], own = file.claims[id];
  holder.dataset.filled = "yes";
  if (!own) {
    holder.replaceChildren(element("p", "Its rows are facts of data sets in the registry."));
    return;
  }
  const more = own.missing ? `, and ${own.missing} that are no rows of measurements` : "";
  holder.replaceChildren(element("p", `${own.rows.length} row${own.rows.length === 1 ? "" : "s"}${more}:`),
                         rowsTable(`Rows of ${id}`, file, own));
}

// Called by the files of rows.
function showRows(paper, file) {
  taken[paper] = file;
  for (const drawer of drawers)
    if (drawer.open && facets.get(drawer).paper === paper) opened(drawer);
}

function opened(drawer) {
  const holder = drawer.querySelector(".rows"), paper = facets.get(drawer).paper;
  if (!holder || holder.dataset.filled) return;
  if (taken[paper]) return fill(holder, paper);
  if (paper in taken) return;  // on its way
  taken[paper] = null;
  const script = element("script");
  script.src = `claims/${paper}.js`;
  document.head.append(script);
}

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || !target.matches("details.claim")) return;
  target.hidden = false;
  target.open = true;
  target.scrollIntoView();
}

if (form) {
  readAddress();
  applyFilter();
  form.addEventListener("input", () => { applyFilter(); keepInAddress(); });
  form.addEventListener("reset", () => setTimeout(() => { applyFilter(); keepInAddress(); }));
  form.addEventListener("submit", event => event.preventDefault());
  for (const drawer of drawers) {
    drawer.addEventListener("toggle", () => drawer.open && opened(drawer));
    if (drawer.open) opened(drawer);  // table.js may have opened it before this script came
  }
  window.addEventListener("hashchange", openTarget);
  openTarget();
}
