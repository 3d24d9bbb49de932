// Requests to the process that serves this page. The token came in the address; it is sent as a header and nowhere else.

const KEY = "quotree-token";

export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", "#/");
  }
  return sessionStorage.getItem(KEY) !== null;
}

const headers = (more) => ({ Authorization: `Bearer ${sessionStorage.getItem(KEY)}`, ...more });

export class Refused extends Error {}

async function read(answer) {
  if (answer.ok) return answer.json();
  const text = await answer.text();
  let problem = text;
  try {
    problem = JSON.parse(text).problem;
  } catch {
    // It is plain text already.
  }
  throw new Refused(problem);
}

export async function ask(path, query, signal) {
  return read(await fetch(`/api/${path}?${new URLSearchParams(query)}`, { headers: headers(), signal }));
}

export async function tell(path, body) {
  const sent = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
  return read(await fetch(`/api/${path}`, sent));
}

/** Read server-sent events until the stream ends: EventSource cannot send a header. */
async function follow(onEvent) {
  const answer = await fetch("/api/stream", { headers: headers() });
  if (!answer.ok) throw new Refused(await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (part.startsWith("data: ")) onEvent(JSON.parse(part.slice(6)));
    }
  }
}

/** Follow the stream indefinitely; `onLost` is told why it is not there. */
export async function followAlways(onStart, onEvent, onLost) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      onStart();
      await follow((event) => {
        pause = 500;
        onEvent(event);
      });
      onLost("the dashboard's process has ended; start it again");
    } catch (error) {
      onLost(error instanceof Refused ? error.message : "the dashboard's process does not answer; is it running?");
      if (error instanceof Refused) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
