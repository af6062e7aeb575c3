// Sound or film in step with the cursor: moving one moves the other.

import { go, page, recording } from "./page.js";

let media = null;
let offset = 0;

const seconds = (sample) => {
  const { time, T } = recording();
  if (!time) return sample / T * (media.duration || 0);
  return (timeOf(time, sample) - time.values[0]) / (time.date ? 1000 : 1);
};

const sample = (at) => {
  const { time, T } = recording();
  if (!time) return at / (media.duration || 1) * T;
  return between(time.values, time.at, time.values[0] + at * (time.date ? 1000 : 1));
};

export function openMedia() {
  const kind = recording().media, room = byId("media");
  media = null;
  room.replaceChildren();
  if (!kind) return;
  media = make(kind.startsWith("audio") ? "audio" : "video", { controls: "", preload: "metadata", src: `media/${page.current}` });
  const input = make("input", { type: "number", step: "0.1", value: String(offset), "aria-label": "Seconds by which it begins before the recording" });
  input.addEventListener("change", () => { offset = Number(input.value) || 0; follow(); });
  media.addEventListener("error", () => {
    media = null;
    room.replaceChildren();
    page.tell("The browser cannot play the sound or film of this recording: it is labelled without.");
  });
  media.addEventListener("play", () => requestAnimationFrame(lead));
  media.addEventListener("seeked", () => { if (Math.abs(seconds(page.cursor) + offset - media.currentTime) > 0.2) lead(); });
  room.append(media, make("label", {}, "It begins ", input, " s before the recording."));
}

// Move the cursor along while sound or film plays.
function lead() {
  if (!media) return;
  go(sample(media.currentTime - offset));
  if (!media.paused && !media.ended) requestAnimationFrame(lead);
}

// Move sound or film to the cursor.
export function follow() {
  if (media && media.paused && media.duration) media.currentTime = Math.min(Math.max(seconds(page.cursor) + offset, 0), media.duration);
}

export function play() {
  if (!media) return;
  if (media.paused) media.play().catch(() => {});
  else media.pause();
}
