// Requests to the process that serves this page. The token came in the address; it is sent as a header and nowhere else.

const KEY = "quotree-token";

export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", "#/");
  }
  return isProxied || sessionStorage.getItem(KEY) !== null;
}

/** In the cluster a proxy adds the user's token. */
export const isProxied = "proxied" in document.documentElement.dataset;

const headers = (more) => (isProxied ? { ...more } : { Authorization: `Bearer ${sessionStorage.getItem(KEY)}`, ...more });

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
      onLost(isProxied ? "connecting again" : "the dashboard's process has ended; start it again");
    } catch (error) {
      const silent = isProxied ? "the dashboard does not answer; reload the page to log in again" : "the dashboard's process does not answer; is it running?";
      onLost(error instanceof Refused ? error.message : silent);
      // A proxy may bring another token with the next request.
      if (error instanceof Refused && !isProxied) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
