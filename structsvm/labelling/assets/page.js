// The state of the page and its actions: labels and predictions of all recordings, and where the reader is.

import { post } from "./net.js";
import { NOTHING, acceptChange, at, fill, gaps, moveEdge, put, without } from "./segments.js";

export const page = {
  recordings: [], labels: {}, kept: {}, found: {}, curve: [], names: [], can: {},
  current: 0, window: [0, 1], cursor: 0, begun: null, first: 0, seen: new Set(), learning: false,
  redraw: () => {}, tell: () => {},
};

export const recording = () => page.recordings[page.current];
export const labels = (name = recording().name) => page.labels[name] || [];
export const found = (name = recording().name) => page.found[name] || [];
export const label = () => labels()[at(labels(), page.cursor)];
export const stretch = () => found()[at(found(), page.cursor)];

export function when(sample, r = recording()) {
  return r.time ? timeWords(r.time, timeOf(r.time, sample), 0) : String(sample);
}

export function where([start, end], r = recording()) {
  return `from ${r.time ? "" : "sample "}${when(start, r)} to ${when(end, r)}`;
}

// ---- where the reader is

export function open(i, cursor = 0) {
  page.current = (i + page.recordings.length) % page.recordings.length;
  Object.assign(page, { window: [0, recording().T], begun: null, first: 0 });
  page.redraw(true);
  go(cursor);
}

export function show(from, to) {
  const T = recording().T, width = Math.min(Math.max(to - from, 4), Math.max(T, 4));
  const start = Math.min(Math.max(from, 0), Math.max(T - width, 0));
  page.window = [start, start + width];
  page.redraw();
}

export function zoom(factor, place = null) {
  const [a, b] = page.window, at = place === null ? page.cursor : place, part = (at - a) / (b - a);
  show(at - part * (b - a) * factor, at + (1 - part) * (b - a) * factor);
}

export function pan(part) {
  const [a, b] = page.window;
  show(a + part * (b - a), b + part * (b - a));
}

export function go(sample) {
  page.cursor = Math.min(Math.max(Math.round(sample), 0), recording().T - 1);
  const [a, b] = page.window, half = (b - a) / 2;
  if (page.cursor < a || page.cursor >= b) show(page.cursor - half, page.cursor + half);
  else page.redraw();
}

export function step(by, fine) {
  const [a, b] = page.window;
  go(page.cursor + by * (fine ? 1 : Math.max((b - a) / 50, 1)));
}

// ---- labels: shown at once, and as they were before if they cannot be saved

function change(changed, words) {
  page.labels = { ...page.labels, ...changed };
  remember();
  page.redraw();
  post("change", { labels: changed }).then((answer) => saved(answer, `${words} Saved.`)).catch(refused);
}

function here(segments, words) { change({ [recording().name]: segments }, words); }

function saved({ labels, can }, words) {
  page.can = can;
  page.kept = { ...page.kept, ...labels };
  page.tell(words);
  page.redraw();
}

function refused(error) {
  page.labels = { ...page.kept };
  page.tell(error.message, true);
  page.redraw();
}

export function remember() {
  for (const segments of [...Object.values(page.labels), ...Object.values(page.found)]) {
    for (const [, , name] of segments) if (name && name !== NOTHING && !page.names.includes(name)) page.names.push(name);
  }
}

export async function undo(by) {
  try {
    const answer = await post("step", { by: by === "undo" ? -1 : 1 });
    page.labels = { ...page.labels, ...answer.labels };
    const changed = Object.keys(answer.labels);
    if (changed.length && !changed.includes(recording().name)) open(page.recordings.findIndex((r) => r.name === changed[0]));
    saved(answer, by === "undo" ? "Undone." : "Done again.");
  } catch (error) { refused(error); }
}

export function mark(start, end, name = "") {
  page.begun = null;
  page.cursor = Math.floor((start + end) / 2);
  here(put(labels(), start, end, name), `${said(name)} ${where([start, end])}.`);
}

function said(name) { return name === NOTHING ? "Looked at, nothing there," : name ? `“${name}”` : "A segment"; }

// A stretch begins at the cursor, or the one that began ends there.
export function beginOrEnd() {
  if (page.begun === null) {
    page.begun = page.cursor;
    page.tell(`A segment begins at ${when(page.cursor)}: move on and press s again where it ends, Escape drops it.`);
    page.redraw();
    return false;
  }
  mark(...begun());
  return true;
}

export function begun() {
  const [start, end] = [page.begun, page.cursor].sort((p, q) => p - q);
  return [start, end + 1];
}

export function drop() {
  page.begun = null;
  page.redraw();
}

export function nameIt(name) {
  const words = name.trim().replace(/\s+/g, " "), here_ = label();
  if (page.begun !== null) mark(...begun(), words);
  else if (here_) here(put(labels(), here_[0], here_[1], words), `${said(words)} ${where(here_)}.`);
  else page.tell("No segment is at the cursor: drag one, or press s where it begins.", true);
}

export function nothing() {
  const [gap] = gaps(labels(), 0, recording().T).filter(([a, b]) => a <= page.cursor && page.cursor < b);
  const cursor = page.cursor;
  mark(...(page.begun !== null ? begun() : label() || gap), NOTHING);
  if (page.cursor !== cursor) go(cursor);
}

export function forget() {
  const one = label();
  if (one) here(without(labels(), one[0], one[1]), `Unknown again ${where(one)}.`);
  else page.tell("What is at the cursor is unknown already.");
}

export function move(from, to) {
  here(moveEdge(labels(), from, to), `The edge at ${when(from)} is moved.`);
}

// Move the nearest edge of a label to the cursor.
export function fetchEdge() {
  const edges = [...new Set(labels().flatMap(([a, b]) => [a, b]))].sort((p, q) => Math.abs(p - page.cursor) - Math.abs(q - page.cursor));
  if (edges.length) move(edges[0], page.cursor);
}

// ---- what was found

export function acceptNear() {
  const changes = found().slice(1).map(([a], k) => [Math.abs(a - page.cursor), k + 1]).sort((p, q) => p[0] - q[0]);
  if (!changes.length) { page.tell("No change was found here."); return; }
  const k = changes[0][1];
  here(acceptChange(labels(), found(), k), `The change at ${when(found()[k][0])} is accepted.`);
}

export function acceptStretch() {
  const one = stretch();
  if (!one) { page.tell("Nothing was found here: press l to learn."); return; }
  here(put(labels(), one[0], one[1], one[2]), `${said(one[2])} ${where(one)} is accepted.`);
}

export function acceptRecording() {
  const all = found().reduce((done, [a, b, name]) => fill(done, a, b, name), labels());
  here(all, "What was found in this recording is accepted where nothing was known.");
}

// Accept the stretches between two changes with such margins, where nothing is labelled yet.
export function acceptAbove(margin) {
  const changed = {};
  let n = 0;
  for (const [name, segments] of Object.entries(page.found)) {
    let all = labels(name);
    segments.forEach(([a, b, state, own], k) => {
      const sure = [k ? own : null, k + 1 < segments.length ? segments[k + 1][3] : null];
      if (sure.some((m) => m !== null && m < margin) || !gaps(all, a, b).length) return;
      all = fill(all, a, b, state);
      n += 1;
    });
    if (all !== labels(name)) changed[name] = all;
  }
  if (n) change(changed, `${n} stretches in ${Object.keys(changed).length} recordings are accepted.`);
  else page.tell(`No stretch is left whose changes have margins of ${margin} or more.`);
}

// Show the change of smallest margin without a label; when called again, the next one.
export function smallestMargin() {
  const open_ = [];
  page.recordings.forEach((r, i) => found(r.name).slice(1).forEach(([a, , , margin]) => {
    const known = at(labels(r.name), a) >= 0 && at(labels(r.name), a - 1) >= 0;
    if (margin !== null && !known && !page.seen.has(`${i} ${a}`)) open_.push([margin, i, a]);
  }));
  if (!open_.length) { page.tell("Every change that was found has been shown or is labelled."); return; }
  const [margin, i, a] = open_.reduce((best, one) => one[0] < best[0] ? one : best);
  page.seen.add(`${i} ${a}`);
  if (i !== page.current) open(i);
  const width = Math.min(recording().T, Math.max(20, recording().T / 5));
  show(a - width / 2, a + width / 2);
  go(a);
  page.tell(`The change at ${when(a)} has margin ${number(margin)}: c accepts it.`);
}

export function atRandom() {
  const others = page.recordings.map((r, i) => i).filter((i) => i !== page.current);
  const fresh = others.filter((i) => !labels(page.recordings[i].name).length);
  const among = fresh.length ? fresh : others;
  if (!among.length) return;
  open(among[Math.floor(Math.random() * among.length)]);
  page.tell(fresh.length ? "A recording without labels, at random." : "Every recording has labels: one of them, at random.");
}

// ---- learning

export function learn() {
  post(page.learning ? "stop" : "learn").catch((error) => {
    isLearning(false);
    page.tell(error.message, true);
  });
  isLearning(true);  // until the server says that it has ended, which stopping takes a moment for
}

export function isLearning(is) {
  page.learning = is;
  page.redraw();
}

function changesOf(all) {
  return new Set(Object.entries(all).flatMap(([name, some]) => some.slice(1).map(([a]) => `${a} ${name}`)));
}

// What was found: [first sample, end, name, margin] of each segment.
export function takeFound(result) {
  const rows = Object.entries(result.found).map(([name, some]) => [name, some.map((row) => [row.start, row.end, row.state || "", row.margin])]);
  page.found = Object.fromEntries(rows);
  remember();
}

// Take the result of learning, and tell how it differs from the last one.
export function learned({ learned: result, judged }) {
  if (judged) {
    Object.assign(page.curve.at(-1), judged);
  } else {
    const before = changesOf(page.found);
    takeFound(result);
    const now = changesOf(page.found), fresh = [...now].filter((one) => !before.has(one)).length, gone = [...before].filter((one) => !now.has(one)).length;
    page.seen.clear();
    page.curve.push(result);
    page.tell(before.size ? `Learned: ${now.size} changes are found, ${fresh} of them new; ${gone} are gone.` : `Learned: ${now.size} changes are found.`);
  }
  page.redraw();
}
