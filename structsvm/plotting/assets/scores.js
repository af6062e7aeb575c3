// The means of each metric, the paired gains, and the table of all recordings.

const COLUMNS = [
  { key: "name", title: DATA.whole, of: (r) => r.name, show: (v) => v },
  { key: "T", title: DATA.items, of: (r) => r.T, show: String },
  { key: "K", title: `true ${DATA.parts}`, of: (r) => r.K, show: String },
  { key: "found", title: "found", of: (r) => r.found.learned, show: String },
  { key: "learned", title: `${DATA.measure}, learned`, of: (r) => r.scores.learned.disagreement, show: fixed },
  { key: "untrained", title: `${DATA.measure}, untrained`, of: (r) => r.scores.untrained.disagreement, show: fixed },
  { key: "gain", title: "gain", of: lead, show: gain },
  ...DATA.scores.filter(([key]) => key !== DATA.measure && DATA.recordings.some((r) => (r.scores.learned[key] ?? null) !== null))
    .map(([key, title]) => ({ key, title, of: (r) => r.scores.learned[key], show: fixed })),
];

// How much closer to the truth the learned metric comes than the untrained one.
function lead(r) {
  return r.scores.untrained.disagreement - r.scores.learned.disagreement;
}

// A sign and an arrow besides the colour.
function gain(value) {
  if (Math.abs(value) < 1e-9) return "0";
  return value > 0 ? `▲ +${fixed(value)}` : `▼ ${fixed(value)}`;
}

function drawMeans() {
  const head = make("tr", {}, make("th", { scope: "col" }, "mean"),
    ...DATA.scores.map(([, title]) => make("th", { scope: "col" }, title)));
  const best = Object.fromEntries(Object.entries(DATA.ideals).map(([key, ideal]) => {
    const found = Object.values(DATA.means).map((scores) => scores[key]).filter((v) => v !== null && v !== undefined);
    return [key, fixed((ideal === 0 ? Math.min : Math.max)(...found), 3)];
  }));
  const rows = Object.entries(DATA.means).map(([metric, scores]) =>
    make("tr", metric === "learned" ? { class: "mean" } : {},
      make("th", { scope: "row", style: `color:${color(metric)}` }, MARKS[metric] || metric),
      ...DATA.scores.map(([key]) => {
        const shown = fixed(scores[key], 3);
        return make("td", shown === best[key] ? { class: "best" } : {}, shown);
      })));
  byId("means").append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  byId("meanings").textContent = DATA.meanings;
}

function drawGains() {
  const found = Object.entries(DATA.gains);
  const ends = found.flatMap(([, g]) => [g.mean, g.low, g.high]).filter((v) => v !== null);
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends), room = 0.08 * (high - low || 1);
  const left = Math.max(90, ...found.map(([baseline]) => 6.3 * `against ${MARKS[baseline] || baseline}`.length));
  const width = Math.max(420, left + 200), height = 44 * found.length + 30;  // at least two ticks
  const x = scale(low - room, high + room, left, width - 10);
  const words = found.map(([baseline, g]) =>
    `against ${MARKS[baseline] || baseline} ${number(g.mean)}${g.low === null ? "" : `, 95 % interval ${number(g.low)} to ${number(g.high)}`}`);
  const drawn = picture(width, height, `Saved ${DATA.measure} ${words.join("; ")}`);
  drawn.append(line(x(0), 4, x(0), height - 24, { class: "reference" }), xAxis(x, low, high, height - 24, (width - left) / 46));
  found.forEach(([baseline, g], i) => {
    const y = 22 + 44 * i, stroke = color("learned");
    drawn.append(text(0, y - 7, `against ${MARKS[baseline] || baseline}`),
      text(0, y + 9, `better ${g.won}, worse ${g.lost}`, { class: "soft", "font-size": 11 }));
    if (g.low !== null) {
      drawn.append(line(x(g.low), y, x(g.high), y, { stroke, "stroke-width": 3 }),
        ...[g.low, g.high].map((end) => line(x(end), y - 6, x(end), y + 6, { stroke, "stroke-width": 2 })));
    }
    drawn.append(svg("circle", { cx: x(g.mean), cy: y, r: 5, fill: stroke }));
  });
  byId("gains").append(drawn);
}

const table = { key: "gain", up: true, rows: [], open: () => {} };

function drawTable(open) {
  table.open = open;
  const heads = COLUMNS.map((column) => {
    const button = make("button", { type: "button" }, column.title);
    button.addEventListener("click", () => sortBy(column.key));
    return make("th", { scope: "col", "data-key": column.key }, button);
  });
  byId("table").append(make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody")));
  byId("filter").addEventListener("input", showRows);
  byId("worse").addEventListener("change", showRows);
  showRows();
}

function sortBy(key) {
  table.up = table.key === key ? !table.up : true;
  table.key = key;
  showRows();
}

// Numbers in names by their size; scores that do not apply come last in either direction.
function order(a, b, sign) {
  const missing = [a, b].map((value) => value === null || value === undefined);
  if (missing.includes(true)) return missing[0] - missing[1];
  return sign * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
}

function showRows() {
  const part = byId("filter").value.trim().toLowerCase(), worse = byId("worse").checked;
  const value = COLUMNS.find((column) => column.key === table.key).of;
  table.rows = DATA.recordings.filter((r) => r.name.toLowerCase().includes(part)
    && (!worse || lead(r) < -1e-9));
  table.rows.sort((r, s) => order(value(r), value(s), table.up ? 1 : -1));
  byId("table").querySelector("tbody").replaceChildren(...table.rows.map(row));
  byId("shown").textContent = `${table.rows.length} of ${DATA.recordings.length} shown`;
  for (const head of byId("table").querySelectorAll("th")) {
    const mine = head.dataset.key === table.key;
    head.setAttribute("aria-sort", mine ? (table.up ? "ascending" : "descending") : "none");
    head.firstChild.textContent = COLUMNS.find((c) => c.key === head.dataset.key).title
      + (mine ? (table.up ? " ↑" : " ↓") : "");
  }
}

function row(recording) {
  const cells = COLUMNS.map((column) => {
    const value = column.of(recording), shown = column.show(value);
    if (column.key === "name") {
      const button = make("button", { type: "button" }, ...breakable(shown));
      button.addEventListener("click", () => table.open(recording));
      return make("td", {}, button);
    }
    const sign = column.key === "gain" && Math.abs(value) > 1e-9 ? (value > 0 ? "gain-up" : "gain-down") : null;
    return make("td", { class: sign }, shown);
  });
  const selected = recording === view.recording;
  return make("tr", { "aria-selected": selected, "data-name": recording.name }, ...cells);
}

// Above each table that is wider than its place: how many columns are out of sight, and where.
function sayWhatIsOutOfSight() {
  for (const region of document.querySelectorAll(".scroll")) {
    const said = make("p", { class: "keys more", "aria-hidden": "true" });
    region.before(said);
    const counted = (n) => n === 1 ? "1 more column" : `${n} more columns`;
    const tell = () => {
      const { left, right } = region.getBoundingClientRect(), heads = [...region.querySelectorAll("thead th")].slice(1);
      const before = heads.filter((th) => th.getBoundingClientRect().left < left + region.querySelector("th").offsetWidth - 2).length;
      const after = heads.filter((th) => th.getBoundingClientRect().right > right + 2).length;
      said.hidden = region.scrollWidth <= region.clientWidth + 1;
      const sides = [before && `← ${counted(before)} to the left`, after && `${counted(after)} to the right →`];
      said.textContent = `Scroll sideways: ${sides.filter(Boolean).join(", ")}`;
    };
    region.addEventListener("scroll", tell, { passive: true });
    new ResizeObserver(tell).observe(region);
    new MutationObserver(tell).observe(region, { childList: true });
  }
}

function markRow() {
  byId("table").querySelectorAll("tbody tr").forEach((element, i) => {
    element.setAttribute("aria-selected", table.rows[i] === view.recording);
  });
}
