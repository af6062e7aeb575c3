// One sample at a time, with zoom: what is drawn is told by `view.draw`.

const LANE = 54, STRIP = 30;
let LEFT = 120;  // room for names: more where the page is wide
const SHAPES = ["circle", "square", "up", "diamond", "down", "cross"];
const CLUSTERS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

// `window` is the stretch of samples that is shown, of the first direction for a table or graph, of the columns
// for an image, whose row in the middle is `centre`.
const view = { recording: null, window: [0, 1], whole: [0, 1], centre: 0, show: null, x: null };
const DRAW = { recordings: drawRecording, tables: drawScatter, images: drawImage };

function openRecording(recording) {
  view.recording = recording;
  view.whole = extent(recording);
  view.window = [...view.whole];
  const isNumber = /^\d+$/.test(recording.name);
  byId("viewed").replaceChildren(...breakable(isNumber ? `${DATA.whole} ${recording.name}` : recording.name));
  markRow();
  redraw();
}

function extent(recording) {
  if (DATA.kind === "tables") return padded(recording.points.map((p) => p[0]));
  view.centre = DATA.kind === "images" ? recording.size[0] / 2 : 0;
  return [0, DATA.kind === "images" ? recording.size[1] : recording.T];
}

function padded(values) {
  const low = Math.min(...values), high = Math.max(...values), room = 0.04 * (high - low || 1);
  return [low - room, high + room];
}

function step(by) {
  const rows = table.rows, at = rows.indexOf(view.recording);
  if (rows.length) openRecording(rows[(at + by + rows.length) % rows.length]);
}

// Zoom to `width` around a place in the shown stretch, 0 to 1, that stays where it is.
function zoom(factor, place = 0.5) {
  const [a, b] = view.window, least = DATA.kind !== "tables" ? 4 : (view.whole[1] - view.whole[0]) / 500;
  const width = Math.max((b - a) * factor, least), at = a + place * (b - a);
  show(at - place * width, at + (1 - place) * width);
}

function show(from, to) {
  const [low, high] = view.whole, width = Math.min(to - from, high - low);
  const start = Math.min(Math.max(from, low), high - width);
  view.window = [start, start + width];
  redraw();
}

function move(part) {
  const [a, b] = view.window;
  show(a + part * (b - a), b + part * (b - a));
}

function redraw() {
  const width = Math.max(byId("picture").clientWidth, 320);
  LEFT = width > 760 && DATA.kind === "recordings" ? 210 : 120;
  byId("picture").replaceChildren(DRAW[DATA.kind](view.recording, width));
  byId("range").textContent = [words(), unnamedInWords(view.recording), sureInWords(view.recording)].join(" ");
}

function words() {
  const r = view.recording, [a, b] = view.window;
  const counts = Object.entries(r.found).map(([name, K]) => `${MARKS[name] || name} ${K}`).join(", ");
  if (DATA.kind === "images") {
    return `${r.name}: columns ${Math.floor(a)} to ${Math.ceil(b) - 1} of ${r.size[1]}; ${DATA.parts}: ${r.K} true, found ${counts}.`;
  }
  const where = DATA.kind === "recordings" ? span(r, Math.floor(a), Math.ceil(b), ` of ${r.T}`)
    : `${r.points.length} of ${r.T} ${DATA.items} drawn, ${r.misplaced} misplaced (ringed)`;
  return `${r.name}: ${where}; ${DATA.parts}: ${r.K} true, found ${counts}.`;
}

// ---- recordings

function drawRecording(r, width) {
  const { traces } = r, strips = Object.entries(r.ends);
  const sure = r.changes.length + r.possible.length ? LANE : 0, top = LANE * traces.length, bottom = top + STRIP * strips.length;
  const height = bottom + sure + 34;
  const [a, b] = view.window, x = view.x = scale(a, b, LEFT, width - RIGHT);
  const drawn = picture(width, height, words());
  const inside = svg("g", { "clip-path": "url(#frame)" });
  drawn.append(patterns(width, height, strips.map(([name]) => name)), inside);
  traces.forEach((trace, i) => {
    drawn.append(named(LANE * (i + 0.5), trace.name, 3));
    inside.append(tracePath(trace, [0, r.T], [a, b], x, LANE * i + 5, LANE - 10));
  });
  if (sure) {
    drawn.append(named(bottom + sure / 2, r.changes.length && r.changes[0].rate === null ? "margin" : "how often right", 2));
    inside.append(...sureness(r, x, bottom + sure - 6, sure - 14));
  }
  strips.forEach(([name, ends], i) => {
    const y = top + STRIP * i, count = `${MARKS[name] || name},\u00a0${ends.length}`;
    drawn.append(named(y + STRIP / 2, count, 2));
    inside.append(...segments(name, ends, x, y, r));
  });
  for (const change of (r.ends.true || []).slice(0, -1)) {
    if (change > a && change < b) inside.append(line(x(change), 0, x(change), height - 30, { class: "change" }));
  }
  drawn.append(r.time ? timeAxis(r.time, x, a, b, height - 28, width / 140) : xAxis(x, a, b, height - 28, width / 110, 1));
  return drawn;
}

// Where some rows name states, the others have colours of their own, which are no states.
function unnamedInWords(r) {
  const rows = Object.keys(r.ends || {}), named = rows.filter((name) => r.states[name]);
  if (DATA.kind !== "recordings" || !named.length || named.length === rows.length) return "";
  return `Rows without names have one colour each, which stands for no ${DATA.named}; hatched and plain ${DATA.parts} alternate.`;
}

// What the bars below the segments say.
function sureInWords(r) {
  if (DATA.kind !== "recordings" || !r.changes.length) return "";
  const ranges = r.changes[0].range ? " Pale bars: where each change may be; dotted: where one may have been missed. Together they hold about 90 % of true changes." : "";
  if (r.changes[0].rate !== null) return `How often right: the share of changes with such a margin that were right in recordings not learned from.${ranges}`;
  return `Margin of a change: how much more the best segmentation without it costs, in prices of a ${DATA.part}; near 0 it is unsure.`;
}

// How sure each learned change is: a bar as high as its rate, or as its margin, of which 1 is half as high as it gets.
function sureness(r, x, foot, height) {
  const parts = [line(x(0), foot, x(r.T), foot, { class: "axis" })];
  let free = -Infinity;
  const when = (at) => (r.time ? `${r.time.name} ${timeWords(r.time, timeOf(r.time, at), 0)}` : `sample ${at}`);
  for (const [first, last] of r.possible) {
    const dotted = line(x(first), foot - height / 2, x(last), foot - height / 2, { class: "change", "stroke-width": 3 });
    dotted.append(svg("title", {}, `a change may have been missed between ${when(first)} and ${when(last)}`));
    parts.push(dotted);
  }
  for (const { at, margin, rate, range } of r.changes) {
    const forced = margin === null, part = rate === null ? (forced ? 1 : margin / (1 + margin)) : rate;
    const words = rate === null ? (forced ? "∞" : number(margin, 2)) : `${Math.round(100 * rate)} %`;
    const what = `change at sample ${at}${r.time ? `, ${when(at)}` : ""}: margin ${forced ? "∞" : number(margin)}`
      + (rate === null ? "" : `; of such changes ${words} were right`)
      + (range ? `; it is between ${when(range[0])} and ${when(range[1])} with about 90 %` : "");
    if (range) {
      parts.push(svg("rect", { x: x(range[0]), y: foot - height * 0.6, width: Math.max(x(range[1]) - x(range[0]), 1), height: height * 0.2,
        fill: color("learned"), opacity: 0.35 }, svg("title", {}, what)));
    }
    parts.push(svg("rect", { x: x(at) - 1.5, y: foot - height * part, width: 3, height: height * part, fill: color("learned"), class: "sure" },
      svg("title", {}, what)));
    if (x(at) < free) continue;
    parts.push(text(x(at) + 5, foot - 7, words, { class: "soft", "font-size": 11 }));
    free = x(at) + 7 * words.length + 12;
  }
  return parts;
}

function span(r, start, end, whole = "") {
  const samples = `samples ${start} to ${end - 1}${whole}`;
  if (!r.time) return samples;
  const from = timeOf(r.time, start), to = timeOf(r.time, end - 1);
  return `${samples}, ${r.time.name} ${timeWords(r.time, from, 0)} to ${timeWords(r.time, to, 0)}`;
}

// A name in the margin, in so many lines at most, or in smaller ones; what does not fit loses its middle.
function named(y, words, most) {
  let size = 12, room = Math.floor((LEFT - 12) / 7), lines = inLines(words, most, room);
  if (lines.some((line) => line.length > room)) {
    [size, room] = [10, Math.floor((LEFT - 12) / 5.8)];
    lines = inLines(words, most + 1, room);
  }
  const top = y - (size + 1) / 2 * (lines.length - 1);
  return svg("g", {}, svg("title", {}, words), ...lines.map((line, i) =>
    text(LEFT - 8, top + (size + 1) * i, short(line, room), { "text-anchor": "end", "font-size": size })));
}

function inLines(words, most, room) {
  const lines = [];
  for (const piece of words.split(PIECES)) {
    const longer = (lines.at(-1) || "") + piece;
    if (lines.length && (lines.length === most || longer.trimEnd().length <= room)) lines.splice(-1, 1, longer);
    else lines.push(piece);
  }
  return lines.map((line) => line.trimEnd());
}

// Every other segment is hatched, so that neighbours differ without colours.
function patterns(width, height, names) {
  const defs = svg("defs", {}, svg("clipPath", { id: "frame" },
    svg("rect", { x: LEFT, y: 0, width: width - LEFT - RIGHT, height })));
  defs.append(...statePatterns());
  for (const [i, name] of names.entries()) {
    defs.append(svg("pattern", { id: `hatch-${i}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 6, height: 6, fill: color(name), opacity: 0.25 }),
      svg("rect", { width: 2, height: 6, fill: color(name) })));
  }
  return defs;
}

// The segments of a row with their names, where they have some and there is room, on a plain ground.
function segments(name, ends, x, y, r) {
  const [a, b] = view.window, parts = [];
  ends.forEach((end, k) => {
    const start = k ? ends[k - 1] : 0, { written, says, look, ground, ink } = segmentLook(name, k, r);
    if (end <= a || start >= b) return;
    const left = x(Math.max(start, a)), wide = Math.max(x(Math.min(end, b)) - left, 0.5), middle = left + wide / 2;
    parts.push(svg("rect", { x: left, y: y + 4, width: wide, height: STRIP - 8, "data-end": end, ...look },
      svg("title", {}, `${MARKS[name] || name}: ${span(r, start, end)}${says}`)));
    if (!written || wide <= 7 * written.length + 6) return;
    if (ground) parts.push(svg("rect", { x: middle - 4 * written.length - 3, y: y + 7, width: 8 * written.length + 6, height: STRIP - 14, ...ground }));
    parts.push(text(middle, y + STRIP / 2, written, { "text-anchor": "middle", ...ink }));
  });
  return parts;
}

// The look of a segment: that of its state, whose number in DATA.states it has, or that of its row.
function segmentLook(name, k, r) {
  if (r.states[name]) {
    const number = r.states[name][k], state = DATA.states[number], written = state.name === null ? "" : state.name;
    return { written, says: `, ${written || "no name"}`, look: { fill: stateFill(number), class: "state", "data-state": written },
      ground: state.hatch ? { fill: state.color } : null, ink: { fill: state.ink } };
  }
  const written = name === "true" && r.labels ? r.labels[k] : "", hatch = `url(#hatch-${Object.keys(r.ends).indexOf(name)})`;
  return { written, says: written ? `, ${written}` : "", look: { fill: k % 2 ? hatch : color(name) },
    ground: k % 2 ? { class: "inside" } : null, ink: { class: k % 2 ? null : "inside" } };
}

// ---- tables and graphs

function drawScatter(r, width) {
  const height = 420, ys = padded(r.points.map((p) => p[1])), [a, b] = view.window;
  const middle = (ys[0] + ys[1]) / 2, half = (ys[1] - ys[0]) / 2;
  const part = (b - a) / (view.whole[1] - view.whole[0]), near = r.points.filter((p) => p[0] >= a && p[0] <= b);
  const centre = part > 0.999 || !near.length ? middle : near.reduce((sum, p) => sum + p[1], 0) / near.length;
  const x = view.x = scale(a, b, LEFT / 2, width - RIGHT);
  const y = scale(centre - half * part, centre + half * part, height - 60, 28);
  const drawn = picture(width, height, words());
  const inside = svg("g", { "clip-path": "url(#frame)" });
  drawn.append(patterns(width + LEFT / 2, height - 30, []), inside);
  drawn.querySelector("#frame rect").setAttribute("x", LEFT / 2);
  const shown = view.show === "true" ? 3 : 2, seen = new Set(r.points.map((p) => p[shown]));
  byId("legend").replaceChildren(...[...seen].map((k) => [r.names[k], k])
    .sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }))
    .map(([name, k]) => make("li", {}, svg("svg", { width: 16, height: 12, "aria-hidden": "true" }, mark(k, 8, 6, name)), name)));
  r.points.forEach((p) => {
    if (p[0] < a || p[0] > b) return;
    inside.append(mark(p[shown], x(p[0]), y(p[1]), `${DATA.item} ${p[5]}: ${DATA.part} ${r.names[p[2]]}, true ${r.names[p[3]]}`));
    if (p[4]) inside.append(svg("circle", { cx: x(p[0]), cy: y(p[1]), r: 8, fill: "none", stroke: "var(--ink)" }));
  });
  drawn.append(xAxis(x, a, b, height - 28, width / 80), text(width - RIGHT, height - 38, short(DATA.axes[0], width / 7 - 8), { "text-anchor": "end", class: "soft" }));
  if (DATA.axes.length > 1) drawn.append(text(8, 14, short(DATA.axes[1], width / 7 - 8), { class: "soft" }));
  return drawn;
}

function mark(cluster, x, y, what) {
  const shape = SHAPES[(cluster + Math.floor(cluster / 6)) % 6], fill = CLUSTERS[cluster % 6], s = 4.2;
  const paths = {
    square: `M${x - s},${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    up: `M${x},${y - s * 1.2}l${s * 1.2},${s * 2.1}h${-2.4 * s}z`,
    down: `M${x},${y + s * 1.2}l${s * 1.2},${-s * 2.1}h${-2.4 * s}z`,
    diamond: `M${x},${y - s * 1.3}l${s * 1.3},${s * 1.3}l${-s * 1.3},${s * 1.3}l${-s * 1.3},${-s * 1.3}z`,
    cross: `M${x - s},${y - s}l${2 * s},${2 * s}M${x - s},${y + s}l${2 * s},${-2 * s}`,
  };
  const drawn = shape === "circle" ? svg("circle", { cx: x, cy: y, r: s, fill })
    : svg("path", { d: paths[shape], fill, stroke: fill, "stroke-width": shape === "cross" ? 2 : 0 });
  drawn.append(svg("title", {}, what));
  return drawn;
}

// ---- images

function drawImage(r, width) {
  const [H, W] = r.size, [a, b] = view.window, names = Object.keys(r.cuts), gap = 10;
  const columns = Math.max(Math.min(names.length, Math.floor(width / 200)), 1), wide = width / columns - gap;
  const titles = names.map((name) => {
    const count = name === "true" ? `, ${r.K}` : name in r.found ? `, ${r.found[name]}` : "";
    return inLines(`${MARKS[name] || name}${count}`, 3, Math.floor(wide / 6.6));
  });
  const top = 9 + 13 * Math.max(...titles.map((lines) => lines.length));
  const high = wide * H / W, tall = (b - a) * H / W, rows = Math.ceil(names.length / columns);
  view.x = null;  // nothing to drag over
  view.centre = Math.min(Math.max(view.centre, tall / 2), H - tall / 2);
  const drawn = picture(width, rows * (high + top + gap), words());
  names.forEach((name, i) => {
    const x = gap / 2 + (i % columns) * (wide + gap), y = top + Math.floor(i / columns) * (high + top + gap);
    const panel = svg("svg", { x, y, width: wide, height: high, viewBox: `${a} ${view.centre - tall / 2} ${b - a} ${tall}` },
      svg("image", { x: 0, y: 0, width: W, height: H, preserveAspectRatio: "none", href: r.cuts[name] }));
    drawn.append(...titles[i].map((line, k) => text(x, y - 10 - 13 * (titles[i].length - 1 - k), line)), panel);
  });
  return drawn;
}

function lift(part) {
  const [a, b] = view.window;
  view.centre += part * (b - a);
  redraw();
}

// ---- what a reader does

function listen() {
  const buttons = [["Previous", () => step(-1)], ["Next", () => step(1)], ["Zoom in", () => zoom(0.5)],
    ["Zoom out", () => zoom(2)], ["Everything", () => show(...view.whole)]];
  for (const [name, act] of buttons) {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", act);
    byId("toolbar").append(button);
  }
  const choice = make("select", { id: "show" }, ...DATA.views.map(([key, name]) => make("option", { value: key }, name)));
  choice.addEventListener("change", () => { view.show = choice.value; redraw(); });
  if (DATA.views.length) byId("toolbar").append(make("label", {}, "Show ", choice));
  view.show = choice.value;
  document.addEventListener("keydown", pressed);
  dragged(byId("picture"));
  new ResizeObserver(() => view.recording && redraw()).observe(byId("picture"));
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  const everywhere = { n: () => step(1), p: () => step(-1), "/": () => byId("filter").focus() };
  const inPicture = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show(...view.whole),
    ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
    ArrowUp: () => lift(-0.2), ArrowDown: () => lift(0.2), Home: () => show(...view.whole),
  };
  const act = everywhere[event.key] || (document.activeElement === byId("picture") && inPicture[event.key]);
  if (!act) return;
  event.preventDefault();
  act();
}

function dragged(element) {
  let start = null;
  const place = (event) => event.clientX - element.getBoundingClientRect().left - element.clientLeft;
  const value = (pixel) => {
    const [a, b] = view.window;
    return a + (pixel - view.x(a)) / (view.x(b) - view.x(a)) * (b - a);
  };
  const chosen = svg("rect", { class: "choice", y: 0, height: "100%" });
  element.addEventListener("pointerdown", (event) => { if (event.button === 0 && view.x) start = place(event); });
  element.addEventListener("pointermove", (event) => {
    if (start === null) return;
    chosen.setAttribute("x", Math.min(start, place(event)));
    chosen.setAttribute("width", Math.abs(place(event) - start));
    element.firstChild.append(chosen);
  });
  window.addEventListener("pointerup", (event) => {
    const end = place(event), from = start;
    start = null;
    chosen.remove();
    if (from !== null && Math.abs(end - from) > 8) {
      const pair = [value(from), value(end)].sort((a, b) => a - b);
      show(...pair);
    }
  });
  element.addEventListener("dblclick", () => show(...view.whole));
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // otherwise the page scrolls
    event.preventDefault();
    const [a, b] = view.window;
    zoom(event.deltaY > 0 ? 1.25 : 0.8, view.x ? (place(event) - view.x(a)) / (view.x(b) - view.x(a)) : 0.5);
  }, { passive: false });
}
