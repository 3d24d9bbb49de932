// Requests to the process that serves this page. The token came in the address; it is sent as a header and nowhere else.

const KEY = "quotree-token";
/** So long without a byte, although the process sends one every 3 s, and it counts as gone. */
const SILENCE = 8000;

/** In the cluster a proxy adds the user's token. */
export const isProxied = "proxied" in document.documentElement.dataset;

/** Take the token of the address, if it has one; return whether there is one. All tabs of this address share it. */
export async function takeToken() {
  const [, how, found] = /^#(token|open)=([\w-]+)$/.exec(location.hash) ?? [];
  if (how) history.replaceState(null, "", "#/");
  if (how === "token") localStorage.setItem(KEY, found);
  if (how === "open") localStorage.setItem(KEY, await exchanged(found));
  return isProxied || localStorage.getItem(KEY) !== null;
}

/** The token for a code that works once: `--open` hands the browser a code, because others can read its arguments. */
async function exchanged(code) {
  const answer = await send("/api/token", { method: "POST", headers: { Authorization: `Bearer ${code}` } });
  return (await read(answer)).token;
}

const headers = (more) => (isProxied ? { ...more } : { Authorization: `Bearer ${localStorage.getItem(KEY)}`, ...more });

export class Refused extends Error {}
/** There is no answer; the page says so at its top. */
export class Unreachable extends Error {}

async function send(path, sent) {
  try {
    return await fetch(path, sent);
  } catch (error) {
    throw new Unreachable("the dashboard does not answer", { cause: error });
  }
}

async function read(answer) {
  if (answer.ok) return answer.json();
  const text = await answer.text();
  let problem = text.trim();
  try {
    problem = JSON.parse(text).problem;
  } catch {
    // It is plain text already.
  }
  throw new Refused(problem);
}

export async function ask(path, query) {
  return read(await send(`/api/${path}?${new URLSearchParams(query)}`, { headers: headers() }));
}

export async function tell(path, body) {
  const sent = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) };
  return read(await send(`/api/${path}`, sent));
}

/** Read server-sent events until the stream ends or is silent: EventSource cannot send a header. */
async function follow(onEvent) {
  const silent = new AbortController();
  let heard = Date.now();
  const watchdog = setInterval(() => Date.now() - heard > SILENCE && silent.abort(), 1000);
  try {
    const answer = await fetch("/api/stream", { headers: headers(), signal: silent.signal });
    if (!answer.ok) throw new Refused((await answer.text()).trim());
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard = Date.now();
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        if (part.startsWith("data: ")) onEvent(JSON.parse(part.slice(6)));
      }
    }
  } finally {
    clearInterval(watchdog);
  }
}

/** Follow the stream indefinitely; `onLost` is told why it is not there. */
export async function followAlways(onStart, onEvent, onLost) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 5000)) {
    try {
      onStart();
      await follow((event) => {
        pause = 500;
        onEvent(event);
      });
      onLost(isProxied ? "The connection was closed" : "The dashboard's process has ended");
    } catch (error) {
      const silent = isProxied ? "The dashboard does not answer; reload the page if you must log in again" : "The dashboard's process does not answer";
      onLost(error instanceof Refused ? error.message : silent);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
