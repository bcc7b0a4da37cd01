// Views of the rows of a transcript that are not items: what was asked, a
// failed attempt, how a turn ended, the opening and closing of the session.

import { h, show, text, toggle } from "./dom.js";
import { guarded } from "./guard.js";
import { itemView } from "./item.js";
import { stripView, summaryWords, timelineView } from "./timeline.js";
import { silence } from "./timing.js";
import { causeWords, count, duration, errorWords, silenceWords, turnWords } from "./words.js";
import { named, prose } from "./visible.js";

/** The view of a row: {el, update(), stop?()}. */
export function rowView(row, app) {
  const view = guarded(row.kind === "session" ? "event" : row.kind === "end" ? "ending" : row.kind, row.of, {
    item: () => itemView(row.of, app),
    turn: () => turnView(row.of, app),
    joined: () => joinedView(row.of),
    change: () => ({ el: h("div", { class: "attempt-row" }, h("p", { class: "ending" }, `From here on, settle sends the model less of the session: ${named(row.of.why ?? row.of.change ?? "")}`)), update() {} }),
    attempt: () => attemptView(row.of, app),
    end: () => footView(row.of, app),
    session: () => sessionView(row.of),
  }[row.kind]);
  view.el.classList.add("row");
  view.el.dataset.key = row.key;
  view.el.tabIndex = -1;
  view.update();
  return view;
}

const LONG_PROMPT = 3000;
const PICTURE_DELAY = 200;

/** What a person said. */
export function promptView(input, words) {
  const said = prose(input.text);
  const body = h("div", { class: "said", dir: "auto" }, said.length > LONG_PROMPT ? `${said.slice(0, LONG_PROMPT)}\u2026` : said);
  const parts = [body];
  if (said.length > LONG_PROMPT) {
    const more = h("button", { type: "button", class: "quiet", on: { click: () => { body.textContent = said; more.remove(); } } }, "Show all");
    parts.push(more);
  }
  for (const image of input.images ?? []) parts.push(imageElement(image));
  if (words) parts.push(h("p", { class: "faint" }, words));
  return h("div", { class: "prompt" }, parts);
}

function imageElement(image) {
  if (image.media_type === "application/pdf") return h("p", { class: "faint" }, `PDF ${named(image.name ?? "")}${image.pages ? `, ${image.pages} pages` : ""}`);
  if (!/^image\/(?:png|jpeg|gif|webp)$/.test(image.media_type)) return h("p", { class: "faint" }, `An image of type ${named(String(image.media_type))}`);
  const el = h("img", { class: "picture-in", alt: image.name ? named(image.name) : "Attached image" });
  el.src = `data:${image.media_type};base64,${image.data}`;
  return el;
}

function turnView(t, app) {
  const who = (i) => i.by && i.by !== "user" && i.by !== "web" ? `from ${named(i.by)}` : "";
  const el = h("div", { class: "turn-head" }, h("h2", { class: "unseen" }, "Turn"), t.inputs.map((i) => promptView(i, who(i))));
  if (t.inputs.length) el.append(h("button", { type: "button", class: "quiet back", title: "Go back to before this, in a copy of the session", on: { click: () => app.rewind(t) } }, "Go back"));
  return { el, update() {} };
}

function joinedView(a) {
  return { el: h("div", { class: "turn-head joined" }, a.inputs.map((i) => promptView(i, "joined the turn here"))), update() {} };
}

function attemptView(a, app) {
  const words = h("p", { class: "ending" });
  const more = h("button", { type: "button", class: "quiet", on: { click: () => app.showDiscarded(a) } });
  const el = h("div", { class: "attempt-row" }, words, more);
  return {
    el,
    update() {
      const t = app.state.turnById.get(a.turn), next = t.attempts[t.attempts.indexOf(a) + 1];
      const why = a.end.outcome === "aborted" ? `was interrupted: ${causeWords({ reason: a.end.reason })}` : `failed: ${named(errorWords(a.end.error))}`;
      let then = "";
      if (a.end.retry_in_ms !== undefined) {
        const left = a.endedAt + a.end.retry_in_ms - app.now();
        if (next) then = ` Retried after ${duration(next.startedAt - a.endedAt)}.`;
        else if (!t.cause) then = left > 0 ? ` Retrying in ${Math.ceil(left / 1000)} s.` : " Retrying.";
      }
      text(words, `Attempt ${a.start.n} ${why.replace(/\.$/, "")}.${then}`);
      const n = a.end.discarded?.length ?? 0;
      show(more, n > 0);
      text(more, app.shown.has(a.id) ? `Hide its output` : `Show its output (${count(n, "item")})`);
      more.setAttribute("aria-expanded", String(app.shown.has(a.id)));
    },
  };
}

/** The foot of a turn: how it goes or ended in one line, and its picture when somebody opens it. */
export const endView = (t, app) => guarded("ending", t, () => footView(t, app));

function footView(t, app) {
  const title = h("span", { class: "turn-state" }), time = h("span", { class: "time" }), now = h("span", { class: "faint doing" });
  const strip = stripView();
  const button = h("button", { type: "button", class: "disclosure turn-line", "aria-expanded": "false", title: "Show where the time went", on: { click: () => open(button.getAttribute("aria-expanded") !== "true") } },
    h("span", { class: "turner", "aria-hidden": "true" }), h("span", { class: "dot", "aria-hidden": "true" }), title, time, now, strip.el);
  const summary = h("p", { class: "faint summary" });
  const failure = h("div", { class: "failure" });
  const picture = timelineView((id) => app.goTo(t.attempts.some((a) => a.id === id) ? firstOf(t, id) : `item ${id}`));
  const more = h("div", { class: "turn-more" }, summary, picture.el);
  const el = h("div", { class: "turn-end" }, h("h3", null, button), failure, more);
  const key = `timeline ${t.id}`;
  let drawnAt = -PICTURE_DELAY;
  const drawPicture = () => { if (!more.hidden) picture.update(t, app.now()); };
  /** What is open stays open when the row is drawn anew. */
  const open = (on) => {
    button.setAttribute("aria-expanded", String(on));
    show(more, on);
    if (on) app.shown.add(key); else app.shown.delete(key);
    drawPicture();
  };
  open(app.shown.has(key));
  return {
    el,
    stop: picture.stop,
    update() {
      el.dataset.outcome = t.cause?.outcome ?? (t.interrupt ? "ending" : "running");
      text(title, named(turnWords(t)));
      text(time, duration((t.cause ? t.endedAt : app.now()) - t.startedAt));
      const model = t.start.model ? named(t.start.model) : "";
      text(summary, [summaryWords(t), model].filter(Boolean).join(" \u00b7 "));
      text(now, t.cause ? "" : doing(t, app.now()));
      show(now, now.textContent !== "");
      show(failure, t.cause?.outcome === "failed");
      if (t.cause?.outcome === "failed" && !failure.firstChild) failure.append(...failureNodes(t.cause.error));
      // Nobody sees more than a few pictures a second, and a long turn has much to draw.
      const at = performance.now();
      if (t.cause || at - drawnAt > PICTURE_DELAY) {
        drawnAt = at;
        strip.update(t, app.now());
        drawPicture();
      }
    },
  };
}

/** What runs now, in words. */
function doing(t, now) {
  const runs = t.items.filter((i) => i.status === "open" && i.started);
  const asks = t.approvals.filter((a) => !a.ended);
  if (asks.length) return asks.length === 1 ? "" : count(asks.length, "question"); // the line says that it waits
  if (runs.length) return `running ${runs.map((i) => named(i.content.name ?? "a tool")).slice(0, 3).join(", ")}`;
  const a = t.attempts.at(-1);
  if (!a) return "";
  if (a.end) return a.end.retry_in_ms !== undefined ? "waiting to retry" : "";
  const silent = silence(t, now);
  if (silent) return silenceWords(silent);
  return a.first ? "the model is responding" : "waiting for the model";
}

function firstOf(t, attempt) {
  const i = t.items.find((one) => one.attempt === attempt && !one.discarded);
  return i ? `item ${i.id}` : `attempt ${attempt}`;
}

function failureNodes(error) {
  if (!error) return [];
  const nodes = [h("p", null, named(errorWords(error)))];
  const rows = [["name", error.name], ["url", error.url], ["attempt", error.attempt && `${error.attempt}, with ${error.retry_limit ?? 0} retries allowed`], ["answer", error.body]];
  nodes.push(h("dl", { class: "arguments" }, rows.filter(([, v]) => v).map(([k, v]) => [h("dt", null, k), h("dd", null, named(String(v)))])));
  nodes.push(h("p", { class: "faint" }, "The conversation is kept. Send a message to continue."));
  return nodes;
}

function sessionView(e) {
  const d = e.data ?? {};
  let words = "";
  if (e.kind === "session.opened") {
    words = [`Opened${d.face ? ` by ${d.face}` : ""}`, d.permission && `permission ${d.permission}`].filter(Boolean).join(" \u00b7 ");
  } else if (e.kind === "session.recovered") {
    words = `Recovered: ${d.message || "the last process died"}${d.ended ? `; ended ${count(d.ended, "open item")}` : ""}${d.kept ? `; the damaged part was saved to ${d.kept}` : ""}`;
  } else {
    words = `Closed${d.reason ? `, ${causeWords({ reason: d.reason, message: d.message })}` : ""}`;
  }
  const at = new Date(e.at);
  const el = h("div", { class: `session-row ${e.kind.split(".")[1]}` },
    h("p", null, named(words), " \u00b7 ", h("time", { datetime: e.at, class: "faint" }, at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }))),
    (d.notes ?? []).map((n) => h("p", { class: "faint" }, named(n))));
  toggle(el, "loud", e.kind === "session.recovered");
  return { el, update() {} };
}
