// Traces of recordings and the time of their samples, in the report and on the page of labels.

const RIGHT = 30;  // room beside a trace

// Values are 0 to 999 between the extremes, null where all are missing; long recordings keep a minimum and a
// maximum for each bin. What is missing interrupts the trace.
function tracePath(trace, [from, to], [a, b], x, top, height) {
  const y = scale(0, 999, top + height, top), bins = trace.low.length, wide = to - from;
  const first = Math.max(Math.floor((a - from) / wide * bins) - 1, 0), last = Math.min(Math.ceil((b - from) / wide * bins) + 1, bins);
  const at = (i) => x(from + (i + 0.5) * wide / bins).toFixed(1);
  const points = (values, order) => order.map((i) => `${at(i)},${y(values[i]).toFixed(1)}`).join(" ");
  const drawn = svg("g");
  for (let i = first; i < last; i++) {
    const run = [];
    while (i < last && trace.low[i] !== null) run.push(i++);
    if (!run.length) continue;
    const outline = trace.high && `${points(trace.high, run)} ${points(trace.low, [...run].reverse())}`;
    if (outline) drawn.append(svg("polygon", { class: "band", points: outline }));
    else if (run.length === 1) drawn.append(svg("circle", { cx: at(run[0]), cy: y(trace.low[run[0]]).toFixed(1), r: 1.2, class: "band" }));
    else drawn.append(svg("polyline", { class: "trace", points: points(trace.low, run) }));
  }
  return drawn;
}

// ---- the time of samples: a line between knots, dates in milliseconds

function between(xs, ys, x) {
  const last = xs.length - 1;
  if (!last) return ys[0] + (x - xs[0]);
  let k = xs.findIndex((known) => known > x) - 1;
  if (k < 0) k = x < xs[0] ? 0 : last - 1;
  const wide = xs[k + 1] - xs[k];
  return wide ? ys[k] + (x - xs[k]) / wide * (ys[k + 1] - ys[k]) : ys[k];
}

function timeOf(time, sample) { return between(time.at, time.values, sample); }

function timeWords(time, value, step) {
  if (!time.date) {
    const fine = step || (time.values.at(-1) - time.values[0]) / 1e5;
    return number(fine ? Number(value.toFixed(Math.min(Math.max(Math.ceil(-Math.log10(fine)), 0), 100))) : value, 15);
  }
  const stamp = new Date(value).toISOString();
  if (!step) return stamp.slice(0, 19).replace("T", " ");
  if (step >= 864e5) return stamp.slice(0, 10);
  return step >= 6e4 ? stamp.slice(5, 16).replace("T", " ") : stamp.slice(11, step >= 1e3 ? 19 : 23);
}

const SPANS = [1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];

function timeTicks(time, from, to, about) {
  const rough = (to - from) / Math.max(about, 1);
  const span = time.date && SPANS.find((length) => length >= rough);
  if (!span || rough < 500) return ticks(from, to, about);
  const found = [];
  for (let value = Math.ceil(from / span) * span; value <= to; value += span) found.push(value);
  return found;
}

function timeAxis(time, x, a, b, y, about) {
  const axis = svg("g"), found = timeTicks(time, timeOf(time, a), timeOf(time, b), about);
  const step = found.length > 1 ? found[1] - found[0] : 1;
  let free = -Infinity;
  for (const value of found) {
    const place = x(between(time.values, time.at, value)), words = timeWords(time, value, step);
    const half = 3.6 * words.length;  // between the name of the time and the edge of the picture
    const middle = Math.max(Math.min(place, x(b) + RIGHT - half), x(a) - 4 + half);
    axis.append(line(place, y, place, y + 5, { class: "axis" }));
    if (middle - half < free) continue;
    axis.append(text(middle, y + 14, words, { "text-anchor": "middle", class: "soft" }));
    free = middle + half + 6;
  }
  axis.append(text(x(a) - 8, y + 14, short(time.name, x(a) / 7), { "text-anchor": "end", class: "soft" }));
  return axis;
}
