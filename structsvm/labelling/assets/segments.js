// Segments of a recording: [first sample, end, name], in order, never overlapping. What is in none is unknown.

export const NOTHING = "nothing";

// The parts of segments that are outside of a stretch.
export function without(segments, start, end) {
  const left = [];
  for (const [a, b, name] of segments) {
    if (a < start) left.push([a, Math.min(b, start), name]);
    if (b > end) left.push([Math.max(a, end), b, name]);
  }
  return left;
}

// Segments with a named stretch in the place of what was there.
export function put(segments, start, end, name) {
  const all = [...without(segments, start, end), [start, end, name]].sort((p, q) => p[0] - q[0]);
  return joined(all, (p, q) => p[2] && p[2] === q[2]);
}

// Join neighbours that touch, and that areOne() takes for one.
export function joined(segments, areOne) {
  const all = [];
  for (const one of segments) {
    const last = all.at(-1);
    if (last && last[1] === one[0] && areOne(last, one)) last[1] = one[1];
    else all.push([...one]);
  }
  return all;
}

// The stretches between two samples that are in no segment.
export function gaps(segments, start, end) {
  const found = [];
  let at = start;
  for (const [a, b] of segments) {
    if (b <= start || a >= end) continue;
    if (a > at) found.push([at, a]);
    at = Math.max(at, b);
  }
  if (at < end) found.push([at, end]);
  return found;
}

// Name what is in no segment within a stretch.
export function fill(segments, start, end, name) {
  return gaps(segments, start, end).reduce((all, [a, b]) => put(all, a, b, name), segments);
}

// Label a change and half of the segments on its sides as predicted; two halves of one segment are joined.
export function acceptChange(segments, found, k) {
  const [[a, change, before], [, b, after]] = [found[k - 1], found[k]];
  const from = Math.floor((a + change - 1) / 2), to = Math.ceil((change + 1 + b) / 2);
  const halves = put(put(segments, from, change, before), change, to, after);
  return joined(halves, (p, q) => p[2] === q[2] && (p[1] === from || p[1] === to));
}

// Move the edge at one sample to another, as far as the neighbouring edges allow.
export function moveEdge(segments, from, to) {
  const left = segments.find((one) => one[1] === from), right = segments.find((one) => one[0] === from);
  const low = left ? left[0] + 1 : Math.max(0, ...segments.map((one) => one[1]).filter((end) => end <= from));
  const high = right ? right[1] - 1 : Math.min(...segments.map((one) => one[0]).filter((start) => start >= from), Infinity);
  const edge = Math.min(Math.max(to, low), high);
  return segments.map((one) => one === left ? [one[0], edge, one[2]] : one === right ? [edge, one[1], one[2]] : one);
}

export function at(segments, sample) {
  return segments.findIndex(([a, b]) => a <= sample && sample < b);
}
