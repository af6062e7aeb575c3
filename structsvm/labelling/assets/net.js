// Requests to the server, whose address is that of the page.

let page = "";
let last = Promise.resolve();

// Send changes one after the other, in the order in which they were made.
export function post(name, data = {}) {
  const next = last.then(() => sent(name, data));
  last = next.catch(() => {});
  return next;
}

async function sent(name, data) {
  const response = await fetch(name, { method: "POST", body: JSON.stringify({ page, ...data }) })
    .catch(() => { throw new Error("Not saved: structsvm label has ended. Start it again; what was saved before is kept."); });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

// Hear all news until the server ends; a second page is refused.
export async function follow(hear) {
  const response = await fetch("news");
  if (!response.ok) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (text + part.value).split("\n");
    text = lines.pop();
    for (const one of lines.map((line) => JSON.parse(line))) {
      page = one.page || page;
      hear(one);
    }
  }
}

let asked = null;
let waiting = null;

// Fetch the traces of the newest window; windows that are asked for while one is fetched are skipped.
export function traces(window, draw) {
  waiting = [window, draw];
  if (!asked) asked = fetched().finally(() => { asked = null; });
}

// Wait until all changes are saved and all traces have come.
export async function settled() {
  await last;
  await asked;
}

async function fetched() {
  while (waiting) {
    const [window, draw] = waiting;
    waiting = null;
    const response = await fetch(`traces/${window}`).catch(() => null);
    if (response && response.ok) draw(await response.json(), window);
  }
}
