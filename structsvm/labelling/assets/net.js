// What the page asks its server, whose address is that of the page.

let page = "";
let last = Promise.resolve();

// One thing after the other, in the order in which it was done.
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

// All news until the server ends, or it refuses a second page.
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

// The traces of the newest window that is asked for: those between are left out.
export function traces(window, draw) {
  waiting = [window, draw];
  if (!asked) asked = fetched().finally(() => { asked = null; });
}

// Until all that was done is saved, and all that is shown has come.
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
