// A session's events from a cursor on, for as long as somebody wants them. A
// connection that breaks or falls silent is made anew from the last event that
// arrived; whether the machine calls itself offline is not asked, since a
// server on the same machine does not mind.

import { eventsPath, noteClock } from "./api.js";
import { sseParser } from "./sse.js";
import * as token from "./token.js";

const SILENCE = 40_000; // the server says something every 15 s
const FIRST_DELAY = 250, MOST_DELAY = 8000;
/** How long events are taken in before the browser may draw and answer. */
const SLICE = 12;

/** Lets the browser draw and answer. */
const breath = () => globalThis.scheduler?.yield?.() ?? new Promise((r) => { setTimeout(r); });

/**
 * Calls on.event(event) for each event after the cursor, on.resync() when the
 * server does not know the cursor, on.closed() when the session is closed,
 * on.problem(words) when its log cannot be read any further,
 * on.gone(status) when there is nothing to read, and on.link(state, retryAt)
 * with "connecting", "live" or "lost". mark is the id with which the
 * event after which to read came, if it did. Returns {stop(), retry(), cursor(), lastId()}.
 */
export function readEvents(id, after, mark, on) {
  let cursor = after, lastId = mark ?? String(after), stopped = false, ended = false, abort = null, wake = null, delay = 0;

  async function once() {
    abort = new AbortController();
    let timer;
    const alive = () => { clearTimeout(timer); timer = setTimeout(() => abort.abort(), SILENCE); };
    alive();
    try {
      const answer = await fetch(eventsPath(id, cursor), {
        cache: "no-store", credentials: "omit", signal: abort.signal,
        headers: { ...token.headers(), Accept: "text/event-stream", "Last-Event-ID": lastId },
      });
      noteClock(answer);
      if (answer.status === 401) { ended = true; token.refused(); return; }
      if ([403, 404, 410].includes(answer.status)) { ended = true; on.gone(answer.status); return; }
      if (!answer.ok || !answer.body) return;
      on.link("live");
      await read(answer.body, alive);
    } catch { /* the connection broke: it is made anew */ } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  async function read(body, alive) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const queue = [];
    const parse = sseParser((e) => queue.push(e));
    for (;;) {
      const { done, value } = await reader.read();
      if (done || stopped) return;
      alive();
      delay = 0;
      parse(value);
      let since = performance.now();
      for (const e of queue.splice(0)) {
        take(e);
        if (stopped || ended) return;
        if (performance.now() - since > SLICE) {
          await breath();
          alive();
          since = performance.now();
        }
      }
    }
  }

  function take(e) {
    if (e.event === "resync") { ended = true; on.resync(); return; }
    if (e.event === "closed") { ended = true; on.closed(); return; }
    if (e.event === "problem") { ended = true; on.problem(JSON.parse(e.data).detail); return; }
    if (e.event !== "event") return;
    const event = JSON.parse(e.data);
    if (event.seq <= cursor) return;
    // A gap: what is missing is asked for again.
    if (event.seq > cursor + 1) { abort.abort(); throw new Error("gap"); }
    cursor = event.seq;
    if (e.id) lastId = e.id;
    on.event(event);
  }

  async function run() {
    while (!stopped && !ended) {
      on.link("connecting");
      await once();
      if (stopped || ended) return;
      delay = Math.min(MOST_DELAY, Math.max(FIRST_DELAY, delay * 2));
      const wait = delay * (0.75 + Math.random() / 2);
      on.link("lost", Date.now() + wait);
      await new Promise((r) => { wake = r; setTimeout(r, wait); });
      wake = null;
    }
  }

  run();
  return {
    stop() { stopped = true; abort?.abort(); wake?.(); },
    /** Does not wait any longer. */
    retry() { if (wake) { delay = 0; wake(); } },
    cursor: () => cursor,
    lastId: () => lastId,
  };
}
