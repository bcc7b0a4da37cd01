// The list of sessions. It is asked for every few seconds while the page is
// seen; the session that is open here tells its own state without that.

import { arrange, h, text } from "./dom.js";
import { ago, endingWords } from "./words.js";
import { named } from "./visible.js";

const words = { idle: "idle", running: "running", waiting: "asks", closed: "closed" };

/** The sessions whose title, directory or id has each of the words. */
export function matching(sessions, said) {
  const wanted = said.toLowerCase().split(/\s+/).filter(Boolean);
  return sessions.filter((s) => wanted.every((w) => `${s.title ?? ""}\n${s.dir ?? ""}\n${s.id}`.toLowerCase().includes(w)));
}

export function sessionsView(list, app) {
  const rows = new Map();
  const row = (id) => {
    const title = h("span", { class: "title", dir: "auto" }), state = h("span", { class: "state" }), where = h("span", { class: "where faint" });
    const a = h("a", { href: `#/s/${encodeURIComponent(id)}` }, title, h("span", { class: "line" }, state, where));
    return { el: h("li", null, a), a, title, state, where };
  };
  return {
    update(sessions, current) {
      for (const s of sessions) {
        if (!rows.has(s.id)) rows.set(s.id, row(s.id));
        const r = rows.get(s.id);
        text(r.title, named(s.title || "New session").slice(0, 200));
        text(r.state, s.approvals > 1 ? `asks ${s.approvals} times` : (s.state === "closed" || s.state === "idle" ? endingWords(s.outcome, s.reason) : "") || (words[s.state] ?? String(s.state)));
        r.a.dataset.state = s.state;
        r.a.dataset.outcome = s.outcome ?? "";
        const dir = String(s.dir ?? "").replace(/\/+$/, "").split("/").pop();
        text(r.where, [named(dir ?? ""), s.updated ? ago(app.now() - Date.parse(s.updated)) : ""].filter(Boolean).join(" \u00b7 "));
        r.a.title = named(`${s.dir ?? ""}\n${s.id}`);
        if (s.id === current) r.a.setAttribute("aria-current", "page"); else r.a.removeAttribute("aria-current");
      }
      const known = new Set(sessions.map((s) => s.id));
      for (const id of rows.keys()) if (!known.has(id)) rows.delete(id);
      arrange(list, sessions.map((s) => rows.get(s.id).el));
    },
  };
}
