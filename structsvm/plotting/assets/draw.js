// Elements, numbers and scales that every picture uses. Texts are only ever set as text.

const DATA = JSON.parse(document.getElementById("data").textContent);
Object.assign(DATA, { items: `${DATA.item}s`, parts: `${DATA.part}s` });
const MARKS = { "true": "true", photo: "image", ...DATA.titles };
const COLORED = new Set(["true", "learned", "untrained", "rca", "pca", "grid"]);

function byId(id) { return document.getElementById(id); }

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function color(name) { return `var(--${COLORED.has(name) ? name : "baseline"})`; }

// "no interval" and other missing numbers are null in the data.
function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  const shown = Number(value.toPrecision(digits));
  return String(Math.abs(shown) >= 1e-4 ? shown : shown.toExponential()).replace("-", "−");
}

function fixed(value, digits = 2) {
  return value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
}

function scale(from, to, low, high) {
  const factor = (high - low) / ((to - from) || 1);
  return (value) => low + (value - from) * factor;
}

// Round numbers between two values, about as many as asked for, `least` apart.
function ticks(from, to, about, least = 0) {
  const rough = (to - from) / Math.max(about, 1);
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(power * ([1, 2, 5, 10].find((m) => m * power >= rough) || 10), least);
  const found = [];
  for (let i = Math.ceil(from / step); i * step <= to + step * 1e-9; i++) {
    found.push(Number((i * step).toPrecision(15)));
  }
  return found;
}

function picture(width, height, label) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

function text(x, y, words, attributes = {}) {
  return svg("text", { x, y, "dominant-baseline": "middle", ...attributes }, String(words));
}

function line(x1, y1, x2, y2, attributes = {}) {
  return svg("line", { x1, y1, x2, y2, ...attributes });
}

// A name that a line may end in after a blank, a slash, a dash, a dot or an underscore.
const PIECES = /(?<=[ /_.:-])/;
function breakable(name) {
  return name.split(PIECES).flatMap((part, i) => i ? [make("wbr"), part] : [part]);
}

// A long name without its middle: what tells names apart is often at the end.
function short(name, most = 20) {
  most = Math.floor(most);
  const end = Math.floor((most - 1) / 2);
  return name.length > most ? `${name.slice(0, most - 1 - end)}…${name.slice(-end)}` : name;
}

// Long names side by side: those that would look alike are cut before the first letter in which they differ.
function shortened(names, most = 20) {
  const written = toldApart(new Map(names.map((name) => [name, short(name, most)])), most);
  return names.map((name) => written.get(name));
}

function toldApart(written, most) {
  for (const words of new Set(written.values())) {
    const alike = [...written.keys()].filter((name) => written.get(name) === words).sort();
    if (alike.length === 1) continue;
    const first = Math.floor(most / 3), [a, b] = [alike[0], alike.at(-1)];
    let start = 0;
    while (start < a.length && a[start] === b[start]) start += 1;
    const from = alike.map((name) => [name, `${name.slice(0, first)}…${name.slice(start, start + most - first - 1)}`]);
    for (const [name, words] of toldApart(new Map(from), most)) written.set(name, words);
  }
  return written;
}

function xAxis(x, from, to, y, about, least = 0) {
  const axis = svg("g");
  for (const tick of ticks(from, to, about, least)) {
    axis.append(
      line(x(tick), y, x(tick), y + 5, { class: "axis" }),
      text(x(tick), y + 14, number(tick, 12), { "text-anchor": "middle", class: "soft" }),
    );
  }
  return axis;
}
