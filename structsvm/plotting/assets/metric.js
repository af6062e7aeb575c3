// What the metric looks at, and the certificate.

// Names are whole, whatever their length: a cell of a table has as many lines as it needs.
function nameOf(name) {
  return make("th", { scope: "row" }, ...breakable(name));
}

function drawWeights() {
  byId("of-metric").hidden = !DATA.metric;
  if (!DATA.metric) return;
  const { weights, others, n_features, unit } = DATA.metric, rest = n_features - weights.length;
  const largest = Math.max(1.3, ...weights.map((row) => row.weight)), share = (value) => `${(100 * value / largest).toFixed(2)}%`;
  const rows = weights.map(({ name, weight }) => make("tr", {}, nameOf(name),
    make("td", { class: "bar" }, make("span", { style: `width:${share(weight)}` })), make("td", {}, number(weight))));
  if (rest) {
    rows.push(make("tr", {}, nameOf(rest > 1 ? `${rest} others together` : "1 other"), make("td"), make("td", {}, number(others))));
  }
  byId("weights").append(make("table", { style: `--one:${share(1)}`, "aria-labelledby": "weights-caption" }, make("tbody", {}, ...rows)));
  byId("weights-caption").textContent = `${unit}; untrained, all are 1 (dashed).`;
}

function drawMatrix() {
  if (!DATA.metric) return;
  const rows = DATA.metric.matrix;
  byId("matrix").parentElement.hidden = !rows;
  if (!rows) return;
  const names = DATA.metric.weights.map((row) => row.name), largest = Math.max(...rows.flat().map(Math.abs), 1e-300);
  const head = make("tr", {}, make("th"), ...rows.map((_, j) => make("th", { scope: "col", title: names[j] }, String(j + 1))));
  const body = rows.map((row, i) => {
    const name = nameOf(names[i]);
    name.prepend(`${i + 1} `);
    return make("tr", {}, name, ...row.map((value, j) => {
      const strength = Math.round(100 * Math.sqrt(Math.abs(value) / largest));
      const shade = `background:color-mix(in srgb, var(--${value < 0 ? "untrained" : "learned"}) ${strength}%, transparent)`;
      return make("td", { style: shade, title: `${names[i]}, ${names[j]}: ${number(value)}` }, value < 0 && strength > 15 ? "–" : "");
    }));
  });
  byId("matrix").append(make("table", { "aria-labelledby": "matrix-caption" }, make("thead", {}, head), make("tbody", {}, ...body)));
  const of = rows.length < DATA.metric.n_features ? `, the ${rows.length} features of largest weight of ${DATA.metric.n_features}` : "";
  byId("matrix-caption").textContent = `The matrix of the metric${of}. Blue: rising together `
    + "separates more; orange with a dash: less. Stronger is larger (square root); the largest is "
    + `${number(largest)} times the untrained metric.`;
}

function drawSpectrum() {
  if (!DATA.metric) return;
  byId("spectrum-words").textContent = DATA.metric.words;
  const values = DATA.metric.eigenvalues;
  byId("spectrum").parentElement.hidden = !values.length;
  if (!values.length) return;
  const width = 420, height = 190, largest = Math.max(1.1, ...values);
  const x = scale(0.5, values.length + 0.5, 40, width - 14), y = scale(0, largest, height - 28, 8);
  const drawn = picture(width, height, `Eigenvalues: ${values.slice(0, 8).map((v) => number(v)).join(", ")}`);
  const wide = Math.max(Math.min(x(2) - x(1) - 1, 14), 0.8);
  values.forEach((value, i) => drawn.append(svg("rect", {
    x: x(i + 1) - wide / 2, y: y(value), width: wide, height: y(0) - y(value), fill: color("learned") },
  svg("title", {}, `direction ${i + 1}: ${number(value)}`))));
  for (const tick of ticks(0, largest, 4)) drawn.append(text(34, y(tick), number(tick), { "text-anchor": "end", class: "soft" }));
  drawn.append(line(40, y(1), width - 6, y(1), { class: "reference" }), xAxis(x, 1, values.length, height - 26, 8, 1));
  byId("spectrum").append(drawn);
}

// The wrong labellings that weigh most, each below the true one.
function drawSupport() {
  if (!DATA.support) return;
  byId("support").hidden = false;
  byId("supporting").textContent = DATA.support.title;
  byId("support-words").textContent = DATA.support.words;
  for (const { caption, ends } of DATA.support.figures) {
    const drawn = ends ? [labellings(ends, caption)] : [];
    byId("support-figures").append(make("figure", {}, ...drawn, make("figcaption", {}, caption)));
  }
}

function labellings(ends, label) {
  const width = 640, names = 60, strip = 22, drawn = picture(width, 2 * strip, label);
  Object.entries(ends).forEach(([name, own], row) => {
    const x = scale(0, own.at(-1), names, width), top = strip * row;
    drawn.append(text(0, top + strip / 2, name));
    if (own.length > 400) drawn.append(text(names, top + strip / 2, `${own.length} segments`));
    else own.forEach((end, k) => {
      const start = k ? own[k - 1] : 0, wide = Math.max(x(end) - x(start), 0.5);
      drawn.append(svg("rect", { x: x(start).toFixed(1), y: top + 3, width: wide.toFixed(1), height: strip - 6,
        fill: color(name === "true" ? "true" : "untrained"), opacity: k % 2 ? 0.45 : 1 },
      svg("title", {}, `${name}: samples ${start} to ${end - 1}`)));
    });
  });
  return drawn;
}

function drawCertificate() {
  for (const [name, value] of DATA.facts) byId("facts").append(make("dt", {}, name), make("dd", {}, value));
  const history = DATA.history, width = 420, height = 200;
  const ends = history.flatMap((h) => [h.lower, h.upper]).filter((v) => v !== null);
  byId("bounds").parentElement.hidden = !ends.length;
  if (!ends.length) return;
  const low = Math.min(...ends), high = Math.max(...ends), room = 0.05 * (high - low || 1);
  const x = scale(1, Math.max(history.length, 2), 56, width - 10), y = scale(low - room, high + room, height - 28, 8);
  const drawn = picture(width, height, `Bounds of the objective: from ${number(low)} to ${number(high)}, ${history.length} iterations`);
  for (const [key, dash] of [["upper", null], ["lower", "6 4"]]) {
    const points = history.map((h, i) => [i + 1, h[key]]).filter(([, v]) => v !== null);
    drawn.append(svg("polyline", { points: points.map(([i, v]) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(" "),
      fill: "none", stroke: color(key === "upper" ? "learned" : "untrained"), "stroke-width": 2, "stroke-dasharray": dash }));
  }
  for (const tick of ticks(low, high, 4)) drawn.append(text(50, y(tick), number(tick, 4), { "text-anchor": "end", class: "soft" }));
  drawn.append(xAxis(x, 1, Math.max(history.length, 2), height - 26, 8, 1));
  byId("bounds").append(drawn);
}
