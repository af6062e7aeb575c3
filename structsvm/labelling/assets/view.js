// Everything that is drawn: traces, the two lanes, the table, the curve.

import { traces } from "./net.js";
import { begun, found, go, label, labels, mark, move, page, pan, recording, stretch, when, where, zoom } from "./page.js";
import { NOTHING, gaps } from "./segments.js";

const TRACE = 46, LANE = 30, MARGINS = 16, FOOT = 28;
let shown = { traces: [], of: -1 };
let x = scale(0, 1, 0, 1);
let drag = null;

// Colours and hatches of names, as in the report; grey is a segment without one.
const COLORS = ["#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#F0E442"];

function look(name) {
  if (!name || name === NOTHING) return { fill: name ? "url(#nothing)" : "var(--unnamed)", ink: "var(--ink)" };
  DATA.states = page.names.map((_, k) => ({ color: COLORS[k % 7], hatch: Math.floor(k / 7) % 6, ink: k % 7 ? "#000000" : "#ffffff" }));
  const k = page.names.indexOf(name);
  return { fill: stateFill(k), ...DATA.states[k] };
}

const left = (width) => (width > 760 ? 150 : 84);
const nShown = () => (byId("picture").clientWidth > 760 ? 8 : 4);

// ---- the picture

export function draw(isNew) {
  const r = recording(), [from, to] = page.window;
  if (isNew) shown = { traces: [], of: page.current };
  const bins = Math.max(Math.round(byId("picture").clientWidth), 300);
  const wanted = [page.current, Math.max(Math.floor(from) - 1, 0), Math.min(Math.ceil(to) + 1, r.T), page.first, nShown(), bins].join();
  if (isNew || shown.wanted === wanted) drawPicture();
  if (shown.wanted === wanted) return;
  shown.wanted = wanted;
  const meanwhile = setTimeout(drawPicture, 100);  // if the traces are late, draw what is there
  traces(wanted, (drawn, which) => {
    clearTimeout(meanwhile);
    if (which.split(",", 1)[0] !== String(page.current)) return;
    shown.traces = drawn;
    drawPicture();
    performance.mark("drawn");
  });
  byId("channels").hidden = r.features.length <= nShown();
  byId("which-channels").textContent = `${page.first + 1} to ${Math.min(page.first + nShown(), r.features.length)} of ${r.features.length} channels`;
}

export function channels(by) {
  const n = recording().features.length;
  page.first = Math.min(Math.max(page.first + by * nShown(), 0), Math.max(n - 1, 0));
  if (page.first % nShown()) page.first -= page.first % nShown();
  page.redraw();
}

function drawPicture() {
  const r = recording(), width = Math.max(byId("picture").clientWidth, 300), [a, b] = page.window, LEFT = left(width);
  const n = Math.min(nShown(), r.features.length - page.first), top = n * TRACE, lower = top + MARGINS + LANE;
  const height = lower + LANE + FOOT;
  x = scale(a, b, LEFT, width - RIGHT);
  const drawn = picture(width, height, `${r.name}, ${r.T} samples`);
  const inside = svg("g", { "clip-path": "url(#frame)" });
  drawn.append(svg("defs", {}, svg("clipPath", { id: "frame" }, svg("rect", { x: LEFT, y: 0, width: width - LEFT - RIGHT, height })),
    svg("pattern", { id: "nothing", width: 7, height: 7, patternUnits: "userSpaceOnUse" },
      svg("path", { d: "M0,7L7,0", stroke: "var(--soft)", "stroke-width": 1 })), ...patterns()), inside);
  for (let k = 0; k < n; k++) {
    drawn.append(beside(r.features[page.first + k], LEFT, TRACE * (k + 0.5)));
    const trace = shown.traces[k];
    if (trace) inside.append(tracePath(trace, [trace.from, trace.to], [a, b], x, TRACE * k + 4, TRACE - 8));
  }
  drawn.append(beside("prediction", LEFT, top + MARGINS + LANE / 2), beside("label", LEFT, lower + LANE / 2));
  inside.append(...margins(top + MARGINS), ...lane(found(), top + MARGINS, "found"), ...lane(labels(), lower, "label"), ...edges(lower));
  const chosen = drag ? drag.stretch() : page.begun !== null ? begun() : null;
  if (chosen) inside.append(svg("rect", { class: "choice", x: x(chosen[0]), width: Math.max(x(chosen[1]) - x(chosen[0]), 1), y: 0, height: height - FOOT }));
  const at = x(page.cursor + 0.5);
  inside.append(line(at, 0, at, height - FOOT, { class: "cursor" }));
  drawn.append(r.time ? timeAxis(r.time, x, a, b, height - FOOT + 4, width / 140) : xAxis(x, a, b, height - FOOT + 4, width / 110, 1));
  byId("picture").replaceChildren(drawn);
  byId("where").textContent = words();
}

const patterns = () => (page.names.length > COLORS.length ? (look(page.names[0]), statePatterns()) : []);

function beside(name, LEFT, y) {
  return svg("g", {}, svg("title", {}, name), text(LEFT - 8, y, short(name, LEFT / 7.5), { "text-anchor": "end" }));
}

function lane(segments, y, kind) {
  const [a, b] = page.window, parts = [], under = kind === "label" ? label() : stretch();
  if (kind === "label") {
    for (const [start, end] of gaps(segments, 0, recording().T)) parts.push(box(start, end, y, { class: "unknown" }, "unknown"));
  }
  for (const one of segments) {
    const [start, end, name] = one;
    if (end <= a || start >= b) continue;
    const { fill, ink, hatch, color } = look(name), wide = x(Math.min(end, b)) - x(Math.max(start, a));
    parts.push(box(start, end, y, { fill, class: "segment state", "data-lane": kind, "data-name": name }, `${name || "no name"} ${where(one)}`));
    if (name && wide > 7 * name.length + 6) {
      const middle = (x(Math.min(end, b)) + x(Math.max(start, a))) / 2, room = 7.2 * name.length + 6;
      if (hatch) parts.push(svg("rect", { x: middle - room / 2, y: y + 7, width: room, height: LANE - 14, fill: color, class: "on-segment" }));
      parts.push(text(middle, y + LANE / 2, name, { "text-anchor": "middle", fill: ink, class: name === NOTHING ? "on-segment over" : "on-segment" }));
    }
  }
  if (under) parts.push(box(under[0], under[1], y, { class: "selected" }, `${under[2] || "no name"} ${where(under)}`));
  return parts;
}

function box(start, end, y, attributes, words) {
  const [a, b] = page.window, from = x(Math.max(start, a)), to = x(Math.min(end, b));
  return svg("rect", { x: from, y: y + 3, width: Math.max(to - from, 0.5), height: LANE - 6, ...attributes }, svg("title", {}, words));
}

// A bar for the margin of each change, which has half of its full height at 1.
function margins(foot) {
  const [a, b] = page.window;
  return found().slice(1).filter(([start]) => start >= a && start <= b).map(([start, , , margin]) => {
    const high = (MARGINS - 3) * (margin === null ? 1 : margin / (1 + margin));
    return svg("rect", { class: "margin", x: x(start) - 1.5, width: 3, y: foot - high, height: high },
      svg("title", {}, `change at ${when(start)}: margin ${margin === null ? "∞" : number(margin)}`));
  });
}

function edges(y) {
  const all = new Set(labels().flatMap(([start, end]) => [start, end]));
  return [...all].map((at) => svg("rect", { class: "edge", x: x(at) - 4, width: 8, y, height: LANE, "data-edge": at }));
}

function words() {
  const r = recording(), one = label(), there = stretch();
  const k = there ? found().indexOf(there) : 0, margin = there && k ? `, its change at ${when(there[0])} has margin ${there[3] === null ? "∞" : number(there[3])}` : "";
  const labelled = !one ? "unknown" : one[2] === NOTHING ? `looked at, nothing there, ${where(one)}` : `${one[2] ? `“${one[2]}”` : "a segment"} ${where(one)}`;
  return `${r.time ? r.time.name : "sample"} ${when(page.cursor)} of ${r.name}. Label: ${labelled}. `
    + (there ? `Prediction: ${there[2] ? `“${there[2]}”` : "a segment"} ${where(there)}${margin}.` : "");
}

// ---- the pointer

const sampleAt = (event) => {
  const [a, b] = page.window, pixel = event.clientX - byId("picture").getBoundingClientRect().left - byId("picture").clientLeft;
  const sample = a + (pixel - x(a)) / (x(b) - x(a)) * (b - a);
  return Math.min(Math.max(sample, 0), recording().T);
};

// Drag over a stretch to label it, or an edge of a label to move it; a drag of a few pixels is a click.
export function listenToPointer(afterDrag) {
  const element = byId("picture");
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const edge = event.target.dataset.edge, start = sampleAt(event);
    drag = { from: start, to: start, edge: edge === undefined ? null : Number(edge), pixels: event.clientX,
      stretch: () => [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)].map(Math.round) };
    if (drag.edge !== null) drag.from = drag.edge;
    element.focus({ preventScroll: true });
    event.preventDefault();
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.to = sampleAt(event);
    drawPicture();
  });
  window.addEventListener("pointercancel", () => { drag = null; page.redraw(); });
  window.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const done = drag, [start, end] = drag.stretch();
    drag = null;
    if (Math.abs(event.clientX - done.pixels) < 5 || start === end) { go(Math.floor(sampleAt(event))); return; }
    if (done.edge !== null) { move(done.edge, Math.round(done.to)); return; }
    mark(start, end);
    afterDrag();
  });
  element.addEventListener("wheel", (event) => {
    const zooms = event.ctrlKey || event.metaKey, across = event.shiftKey ? event.deltaY : event.deltaX;
    if (!zooms && !across) return;  // the page scrolls
    event.preventDefault();
    if (zooms) zoom(event.deltaY > 0 ? 1.25 : 0.8, sampleAt(event));
    else pan(across / 800);
  }, { passive: false });
}

// ---- beside the picture

function swatch(name) {
  return svg("svg", { width: 14, height: 12, "aria-hidden": "true" }, svg("rect", { width: 14, height: 12, rx: 2, fill: look(name).fill }));
}

export function drawLegend(nameIt) {
  byId("legend").replaceChildren(...page.names.map((name, k) => {
    const key = k < 9 ? [make("kbd", {}, String(k + 1))] : [], button = make("button", { type: "button" }, swatch(name), name, ...key);
    button.addEventListener("click", () => nameIt(name));
    return make("li", {}, button);
  }));
  byId("names").replaceChildren(...page.names.map((name) => make("option", { value: name })));
}

export function drawTable() {
  const r = recording(), rows = [];
  for (const one of labels()) rows.push(["label", one]);
  for (const one of gaps(labels(), 0, r.T)) rows.push(["label", [...one, null]]);
  for (const one of found()) rows.push(["prediction", one]);
  rows.sort((p, q) => p[1][0] - q[1][0] || (p[0] < q[0] ? -1 : 1));
  const unit = r.time ? r.time.name : "sample";
  const head = ["segment", "lane", `start (${unit})`, `end (${unit})`, "margin of its start"];
  const body = rows.map(([of, one]) => {
    const [start, end, name, margin] = one, button = make("button", { type: "button" }, name === null ? "unknown" : name || "no name");
    button.addEventListener("click", () => { go(Math.floor((start + end) / 2)); byId("picture").focus(); });
    const is = of === "label" ? one === label() : one === stretch();
    const cells = [of, when(start), when(end), margin === undefined || !start ? "" : margin === null ? "∞" : number(margin)];
    return make("tr", { "aria-selected": String(is) }, make("td", {}, button), ...cells.map((cell) => make("td", {}, cell)));
  });
  byId("table").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...body)));
}

const said = (one) => `${number(one.loss)} with ${number(100 * one.labelled)} % of the samples labelled`;

// The loss on what was held out, as labels grow.
export function drawCurve() {
  const points = page.curve.filter((one) => one.loss !== null && one.loss !== undefined), last = page.curve.at(-1);
  byId("curve").hidden = !points.length;
  byId("said").hidden = !last;
  const notes = last ? [...(last.why ? [`No loss on held-out recordings yet: ${last.why}`] : []), ...last.said] : [];
  byId("said").replaceChildren(...notes.map((note) => make("li", {}, note)));
  if (!points.length) return;
  const width = 340, height = 150, most = 100 * Math.max(...points.map((one) => one.labelled)), worst = Math.max(...points.map((one) => one.loss)) || 1;
  const along = scale(0, most, 44, width - 12), up = scale(0, worst, height - 30, 10);
  const drawn = picture(width, height, `Loss on held-out recordings: ${points.map((one) => said(one)).join(", ")}`);
  for (const tick of ticks(0, worst, 3)) drawn.append(line(40, up(tick), width - 12, up(tick), { class: "axis" }), text(36, up(tick), number(tick), { "text-anchor": "end", class: "soft" }));
  drawn.append(xAxis(along, 0, most, height - 28, 5), svg("polyline", { class: "line", points: points.map((one) => `${along(100 * one.labelled)},${up(one.loss)}`).join(" ") }));
  for (const one of points) drawn.append(svg("circle", { cx: along(100 * one.labelled), cy: up(one.loss), r: 3.5 }, svg("title", {}, said(one))));
  byId("curve-picture").replaceChildren(drawn);
  byId("curve-words").textContent = `Loss on recordings held out in turn, by the share of all samples that were labelled, in percent; now ${number(points.at(-1).loss)}.`;
}
