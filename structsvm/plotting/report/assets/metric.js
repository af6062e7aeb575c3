// What the metric looks at, and the certificate.

function drawWeights() {
  const rows = DATA.metric.weights, width = 420, height = 20 * rows.length + 30;
  const largest = Math.max(1.3, ...rows.map((row) => row.weight)), x = scale(0, largest, 150, width - 40);
  const drawn = picture(width, height, `Weights: ${rows.slice(0, 5).map((r) => `${r.name} ${number(r.weight)}`).join(", ")}`);
  drawn.append(line(x(1), 0, x(1), height - 26, { class: "reference" }));
  const names = shortened(rows.map((row) => row.name));
  rows.forEach((row, i) => {
    const y = 20 * i + 10;
    drawn.append(svg("g", {}, svg("title", {}, `${row.name}: ${number(row.weight)}`),
      text(144, y, names[i], { "text-anchor": "end" }),
      svg("rect", { x: x(0), y: y - 7, width: Math.max(x(row.weight) - x(0), 0.5), height: 14, fill: color("learned") }),
      text(x(row.weight) + 4, y, number(row.weight), { class: "soft over", "font-size": 11 })));
  });
  drawn.append(xAxis(x, 0, largest, height - 26, 5));
  byId("weights").append(drawn);
  byId("weights-caption").textContent = `${DATA.metric.unit}; `
    + `untrained, all are 1 (dashed). ${rows.length} largest of ${DATA.metric.n_features}.`;
}

function drawMatrix() {
  const { names, rows } = DATA.metric.matrix, n = names.length, size = Math.max(4, Math.min(28, Math.floor(400 / n)));
  const left = size >= 9 ? 150 : 4, largest = Math.max(...rows.flat().map(Math.abs), 1e-300);
  const drawn = picture(left + n * size + 2, n * size + 2, `Heat map of the metric over ${n} features`);
  const written = shortened(names);
  rows.forEach((row, i) => {
    if (left > 4) {
      drawn.append(text(left - 6, size * (i + 0.5), written[i], { "text-anchor": "end", "font-size": Math.min(12, size) }));
    }
    row.forEach((value, j) => {
      const strength = Math.sqrt(Math.abs(value) / largest).toFixed(3);
      const cell = { x: left + j * size, y: i * size, width: size - 0.5, height: size - 0.5 };
      drawn.append(svg("g", {}, svg("title", {}, `${names[i]}, ${names[j]}: ${number(value)}`),
        svg("rect", { ...cell, fill: value < 0 ? "var(--untrained)" : "var(--learned)", "fill-opacity": strength }),
        ...(value < 0 && strength > 0.15 && size > 6
          ? [line(cell.x + 2, cell.y + size / 2, cell.x + size - 2, cell.y + size / 2, { stroke: "var(--ink)", "stroke-opacity": strength })] : [])));
    });
  });
  byId("matrix").append(drawn);
  byId("matrix-caption").textContent = `The matrix of the metric, ${n} features of largest weight. Blue: rising together `
    + "separates more; orange with a dash: less. Stronger is larger (square root); the largest is "
    + `${number(largest)} times the untrained metric.`;
}

function drawSpectrum() {
  const values = DATA.metric.eigenvalues, width = 420, height = 190, largest = Math.max(1.1, ...values);
  const x = scale(0.5, values.length + 0.5, 40, width - 14), y = scale(0, largest, height - 28, 8);
  const drawn = picture(width, height, `Eigenvalues: ${values.slice(0, 8).map((v) => number(v)).join(", ")}`);
  const wide = Math.max(Math.min(x(2) - x(1) - 1, 14), 0.8);
  values.forEach((value, i) => drawn.append(svg("rect", {
    x: x(i + 1) - wide / 2, y: y(value), width: wide, height: y(0) - y(value), fill: color("learned") },
  svg("title", {}, `direction ${i + 1}: ${number(value)}`))));
  for (const tick of ticks(0, largest, 4)) drawn.append(text(34, y(tick), number(tick), { "text-anchor": "end", class: "soft" }));
  drawn.append(line(40, y(1), width - 6, y(1), { class: "reference" }), xAxis(x, 1, values.length, height - 26, 8, 1));
  byId("spectrum").append(drawn);
  byId("spectrum-words").textContent = DATA.metric.words;
}

function drawCertificate() {
  for (const [name, value] of DATA.facts) byId("facts").append(make("dt", {}, name), make("dd", {}, value));
  const history = DATA.history, width = 420, height = 200;
  const ends = history.flatMap((h) => [h.lower, h.upper]).filter((v) => v !== null);
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
