// The list of sessions. It is asked for every few seconds while the page is
// seen; the session that is open here tells its own state without that.

import { arrange, h, show, text } from "./dom.js";
import { ago, count, endingWords } from "./words.js";
import { named } from "./visible.js";

const words = { idle: "idle", running: "running", waiting: "asks", closed: "closed" };

/** The sessions whose title, directory or id has each of the words. */
export function matching(sessions, said) {
  const wanted = said.toLowerCase().split(/\s+/).filter(Boolean);
  return sessions.filter((s) => wanted.every((w) => `${s.title ?? ""}\n${s.dir ?? ""}\n${s.id}`.toLowerCase().includes(w)));
}

/**
 * The sessions, where those of one day in which nothing was done are one entry
 * {day, sessions}, at the place of the first. The session with the id `current` stays.
 */
export function folded(sessions, current = "") {
  const days = new Map(), year = new Date().getFullYear();
  const dayOf = (s) => {
    const at = new Date(s.updated);
    return at.toLocaleDateString(undefined, { day: "numeric", month: "short", ...(at.getFullYear() === year ? {} : { year: "numeric" }) });
  };
  const folds = (s) => s.trivial && s.id !== current && (s.state === "closed" || s.state === "idle");
  for (const s of sessions) if (folds(s)) days.set(dayOf(s), [...days.get(dayOf(s)) ?? [], s]);
  return sessions.flatMap((s) => {
    const day = folds(s) ? days.get(dayOf(s)) : [];
    if (day.length < 2) return [s];
    return day[0] === s ? [{ id: `day ${dayOf(s)}`, day: dayOf(s), sessions: day }] : [];
  });
}

/** Whether a person should look at how the session ended. */
export const isFailed = (s) => s.outcome === "failed" || s.reason === "crashed" || !!s.problem;

/** The state of a session, by which it is marked and grouped: also that in another process. */
export const shownState = (s) => s.approvals || s.held_calls ? "waiting" : s.elsewhere ?? s.state;

/** How a session is, in a word or two. */
export function stateWords(s) {
  if (s.approvals > 1) return `asks ${s.approvals} times`;
  if (s.elsewhere) return `${words[s.elsewhere] ?? s.elsewhere} elsewhere`;
  if (s.held_calls) return count(s.held_calls, "held call");
  return (s.state === "closed" || s.state === "idle" ? endingWords(s.outcome, s.reason) : "") || (words[s.state] ?? String(s.state));
}

/** A list of sessions, and of the entries of folded(): {update(entries, current)}. `dirs` says whether they have different directories. */
export function sessionsView(list, app, dirs = true) {
  const rows = new Map();
  const row = (id) => {
    const title = h("span", { class: "title", dir: "auto" }), state = h("span", { class: "state" }), where = h("span", { class: "where faint" });
    const a = h("a", { href: `#/s/${encodeURIComponent(id)}` }, title, h("span", { class: "line" }, state, where));
    return {
      el: h("li", null, a),
      update(s, current) {
        text(title, named(s.title || "New session").slice(0, 200));
        text(state, stateWords(s));
        a.dataset.state = shownState(s);
        a.dataset.outcome = s.outcome ?? "";
        const dir = String(dirs && s.dir || "").replace(/\/+$/, "").split("/").pop();
        text(where, [named(dir), s.updated ? ago(app.now() - Date.parse(s.updated)) : ""].filter(Boolean).join(" \u00b7 "));
        a.title = named(`${s.title ?? ""}\n${s.dir ?? ""}\n${s.id}`);
        if (s.id === current) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
      },
    };
  };
  /** The sessions of a day behind a button. */
  const fold = () => {
    const said = h("span", { class: "title" }), inner = h("ul", { class: "sessions", hidden: true }), view = sessionsView(inner, app, dirs);
    const button = h("button", { type: "button", class: "disclosure day", "aria-expanded": "false", on: { click: () => {
      show(inner, inner.hidden);
      button.setAttribute("aria-expanded", String(!inner.hidden));
    } } }, h("span", { class: "turner", "aria-hidden": "true" }), said);
    return {
      el: h("li", null, button, inner),
      update(f, current) {
        const failed = f.sessions.filter(isFailed).length;
        text(said, [`${f.sessions.length} without work`, failed && `${failed} failed`, f.day].filter(Boolean).join(", "));
        button.title = "Each turn failed, or nothing was asked for";
        view.update(f.sessions, current);
      },
    };
  };
  return {
    update(entries, current) {
      for (const e of entries) {
        if (!rows.has(e.id)) rows.set(e.id, e.sessions ? fold() : row(e.id));
        rows.get(e.id).update(e, current);
      }
      const known = new Set(entries.map((e) => e.id));
      for (const id of rows.keys()) if (!known.has(id)) rows.delete(id);
      arrange(list, entries.map((e) => rows.get(e.id).el));
    },
  };
}
