// The page as a whole: its keys and buttons, and what the server tells it.

import { follow, openMedia, play } from "./media.js";
import { follow as followNews } from "./net.js";
import {
  acceptAbove, acceptNear, acceptRecording, acceptStretch, atRandom, beginOrEnd, drop, fetchEdge, forget, go, isLearning, label, labels, learn, learned,
  nameIt, nothing, open, page, pan, recording, remember, show, smallestMargin, step, takeFound, undo, zoom,
} from "./page.js";
import { channels, draw, drawCurve, drawLegend, drawTable, listenToPointer } from "./view.js";

const ofMargin = () => acceptAbove(Number(byId("margin").value));

// The key, the keys that the list shows, what they do in words, the action, and whether the key is for the picture alone.
const KEYS = [
  ["ArrowLeft", "← →", "move the cursor, with Shift by one sample", (event) => step(-1, event.shiftKey), true],
  ["ArrowRight", "", "", (event) => step(1, event.shiftKey), true],
  ["PageUp", "PageUp PageDown", "move what is shown", () => pan(-0.8), true],
  ["PageDown", "", "", () => pan(0.8), true],
  ["Home", "Home End", "to the first or the last sample", () => go(0), true],
  ["End", "", "", () => go(recording().T), true],
  ["+", "+ − 0", "zoom in, zoom out, show everything", () => zoom(0.5)],
  ["=", "", "", () => zoom(0.5)],
  ["-", "", "", () => zoom(2)],
  ["0", "", "", () => show(0, recording().T)],
  ["n", "n p", "next and previous recording", () => open(page.current + 1)],
  ["p", "", "", () => open(page.current - 1)],
  ["[", "[ ]", "other channels", () => channels(-1)],
  ["]", "", "", () => channels(1)],
  [" ", "Space", "play and pause sound or film", play, true],
  ["s", "s", "begin a segment at the cursor, and end it there, which asks for its name", () => { if (beginOrEnd()) toName(); }],
  ["Escape", "Escape", "drop the segment that was begun", drop],
  ["Enter", "Enter", "name the segment at the cursor; a blank takes its name away", toName, true],
  ["x", "x", "looked at, nothing there: the segment that was begun or is at the cursor, or all that is unknown around it", nothing],
  ["Delete", "Delete", "what the segment at the cursor is, is unknown again", forget],
  ["b", "b", "move the nearest edge of a label to the cursor", fetchEdge],
  ["z", "z y", "undo and redo, back to the first label", () => undo("undo")],
  ["y", "", "", () => undo("redo")],
  ["l", "l", "learn, or stop learning", learn],
  ["c", "c", "accept the change nearest to the cursor, and half of what is on either side", acceptNear],
  ["a", "a", "accept the predicted stretch at the cursor", acceptStretch],
  ["A", "A", "accept the recording: what was predicted where nothing is known", acceptRecording],
  ["g", "g", "accept all stretches whose changes have so large a margin, in all recordings", ofMargin],
  ["m", "m", "go to the change of smallest margin", smallestMargin],
  ["r", "r", "go to a recording at random", atRandom],
];

function toName() {
  const one = label();
  byId("name").value = one ? one[2] : "";
  byId("name").focus();
  byId("name").select();
}

function pressed(event) {
  if (event.altKey || event.target.matches("input, select, video, audio")) return;
  if (event.ctrlKey || event.metaKey) {
    if (event.key === "z") { event.preventDefault(); undo(event.shiftKey ? "redo" : "undo"); }
    return;
  }
  const isFree = [document.body, byId("picture")].includes(document.activeElement);
  const digit = /^[1-9]$/.test(event.key) && page.names[Number(event.key) - 1];
  const found = KEYS.find(([key, , , , inPicture]) => key === event.key && (isFree || !inPicture));
  if (!found && !digit) return;
  event.preventDefault();
  if (digit) nameIt(digit);
  else found[3](event);
  if (isFree && !["s", "Enter"].includes(event.key)) byId("picture").focus({ preventScroll: true });
  if (found && found[4] && event.key !== " ") follow();
}

function listen() {
  document.addEventListener("keydown", pressed);
  for (const button of document.querySelectorAll("button[data-key]")) {
    const [, , , act] = KEYS.find(([key]) => key === button.dataset.key);
    button.append(make("kbd", { "aria-hidden": "true" }, button.dataset.key.replace("-", "−").replace("Delete", "Del")));
    button.setAttribute("aria-keyshortcuts", button.dataset.key);
    button.addEventListener("click", act);
  }
  for (const [, keys, words] of KEYS.filter(([, , words]) => words)) {
    byId("keys").append(make("dt", {}, make("kbd", {}, keys)), make("dd", {}, words));
  }
  byId("keys").append(make("dt", {}, make("kbd", {}, "1 … 9")), make("dd", {}, "give the segment at the cursor, or the one that was begun, this name"));
  byId("recording").addEventListener("change", (event) => open(Number(event.target.value)));
  byId("naming").addEventListener("submit", (event) => {
    event.preventDefault();
    nameIt(byId("name").value);
    byId("picture").focus();
  });
  byId("name").addEventListener("keydown", (event) => { if (event.key === "Escape") byId("picture").focus(); });
  byId("picture").addEventListener("click", follow);
  listenToPointer(toName);
  new ResizeObserver(() => page.redraw()).observe(byId("picture"));
}

function tell(words, isRefused = false) {
  byId("told").textContent = words;
  byId("told").className = isRefused ? "refused" : "";
}

function redraw(isNew = false) {
  if (!page.recordings.length) return;
  if (isNew) openMedia();
  byId("recording").value = String(page.current);
  const n = page.recordings.filter((r) => labels(r.name).length).length;
  byId("progress-of-labels").textContent = `${n} of ${page.recordings.length} recordings have labels`;
  byId("undo").disabled = !page.can.undo;
  byId("redo").disabled = !page.can.redo;
  for (const button of document.querySelectorAll("button.found")) button.disabled = !Object.keys(page.found).length;
  byId("learn").firstChild.textContent = page.learning ? "Stop learning" : "Learn";
  byId("progress").hidden = !page.learning;
  if (!page.learning) byId("doing").textContent = "";
  draw(isNew);
  drawLegend(nameIt);
  drawTable();
  drawCurve();
}

function begin({ title, recordings, known, rounds, can, learning, kept }) {
  Object.assign(page, { recordings, labels: known, kept: { ...known }, curve: rounds, can, learning });
  remember();
  if (rounds.length) takeFound(rounds.at(-1));
  proposeMargin();
  document.title = `Label ${title}`;
  byId("title").textContent = `Label, learn, correct: ${title}`;
  byId("saved").textContent = `Every change is saved at once in ${kept}. Nothing leaves this machine.`;
  byId("recording").append(...recordings.map((r, i) => make("option", { value: i }, r.name)));
  byId("page").hidden = false;
  listen();
  open(0);
  tell("Drag over a stretch to label it, or press s where it begins and again where it ends.");
}

// The median margin: half of all changes are surer.
function proposeMargin() {
  const all = Object.values(page.found).flatMap((some) => some.slice(1).map((one) => one[3])).filter((one) => one !== null);
  if (all.length) byId("margin").value = Number(all.sort((p, q) => p - q)[all.length >> 1].toPrecision(2));
}

function hear(news) {
  if (news.page) begin(news);
  if ("part" in news) {
    byId("progress").value = news.part;
    byId("doing").textContent = news.doing;
  }
  if (news.learned || news.judged) learned(news);
  if (news.learned) proposeMargin();
  if (news.failed) tell(news.failed, true);
  if ("ended" in news) isLearning(false);
}

Object.assign(page, { redraw, tell });
followNews(hear)
  .then(() => tell("structsvm label has ended: start it again to go on. All that was saved is kept.", true))
  .catch((error) => tell(error.message, true));
