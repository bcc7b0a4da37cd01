// All sessions at a glance, for a second screen: what asks, runs and failed, with
// the child agents as a tree.

import { arrange, h, show, text } from "./dom.js";
import { isFailed, shownState, stateWords } from "./sessions.js";
import { ago, count } from "./words.js";
import { named } from "./visible.js";

const MOST_OTHERS = 12;
const GROUPS = [
  ["Asking", (s) => shownState(s) === "waiting"],
  ["Running", (s) => shownState(s) === "running" || s.children?.some((c) => c.state === "running" || c.state === "waiting")],
  ["Failed", isFailed],
  ["Others", (s) => !s.trivial],
];

/** Each session in the first group that takes it: [[name, sessions]]. */
export function grouped(sessions) {
  const out = GROUPS.map(([name]) => [name, []]);
  for (const s of sessions) {
    const n = GROUPS.findIndex(([, takes]) => takes(s));
    if (n >= 0) out[n][1].push(s);
  }
  return out;
}

/** {update(sessions), focus(), step(by)}: step moves the focus to the next or an earlier card. */
export function overviewView(el, app) {
  const sum = h("p", { class: "unseen", role: "status" });
  const groups = new Map(GROUPS.map(([name]) => {
    const title = h("h2", null), list = h("ul", { class: "cards" });
    return [name, { el: h("section", { data: { group: name.toLowerCase() } }, title, list), title, list, cards: new Map() }];
  }));
  el.replaceChildren(sum, ...[...groups.values()].map((g) => g.el));

  function card(id) {
    const title = h("span", { class: "title", dir: "auto" }), state = h("span", { class: "state" }), where = h("span", { class: "where faint" });
    const a = h("a", { href: `#/s/${encodeURIComponent(id)}` }, title, h("span", { class: "line" }, state, where));
    const tree = h("div", { class: "tree" });
    return {
      el: h("li", null, a, tree),
      update(s) {
        text(title, named(s.title || "New session").slice(0, 200));
        text(state, stateWords(s));
        a.dataset.state = shownState(s);
        a.dataset.outcome = s.outcome ?? "";
        text(where, [named(s.dir ?? ""), named(s.model ?? ""), ago(app.now() - Date.parse(s.updated))].filter(Boolean).join(" \u00b7 "));
        const said = JSON.stringify(s.children ?? []);
        if (tree.dataset.said === said) return;
        tree.dataset.said = said;
        tree.replaceChildren(...branch(s.children ?? [], s.id, 0));
      },
    };
  }

  /** The children of a session as a list, with theirs. */
  function branch(children, parent, depth) {
    const own = children.filter((c) => c.parent === parent);
    if (!own.length || depth > 8) return [];
    return [h("ul", { "aria-label": depth ? undefined : "Child agents" }, own.map((c) => h("li", null,
      h("a", { href: `#/s/${encodeURIComponent(c.id)}`, data: { state: c.state, outcome: c.outcome ?? "" } }, h("span", { class: "title" }, named(c.title || c.id)), h("span", { class: "line" }, h("span", { class: "state" }, stateWords(c)))),
      branch(children, c.id, depth + 1))))];
  }

  const cards = () => [...el.querySelectorAll(".cards a")];

  return {
    focus: () => el.focus({ preventScroll: true }),
    step(by) {
      const all = cards(), here = all.indexOf(document.activeElement);
      const next = all[here < 0 ? 0 : Math.min(all.length - 1, Math.max(0, here + by))];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    },
    update(sessions) {
      const at = el.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      const all = grouped(sessions);
      text(sum, all.slice(0, 3).map(([name, list]) => `${list.length} ${name.toLowerCase()}`).join(" \u00b7 "));
      for (const [name, list] of all) {
        const g = groups.get(name), seen = name === "Others" ? list.slice(0, MOST_OTHERS) : list;
        show(g.el, list.length > 0);
        text(g.title, name === "Others" ? "Others" : `${name}: ${count(list.length, "session")}`);
        for (const s of seen) {
          if (!g.cards.has(s.id)) g.cards.set(s.id, card(s.id));
          g.cards.get(s.id).update(s);
        }
        for (const id of g.cards.keys()) if (!seen.some((s) => s.id === id)) g.cards.delete(id);
        arrange(g.list, seen.map((s) => g.cards.get(s.id).el));
      }
      // A card that was moved or made anew has lost the focus.
      if (at && !el.contains(document.activeElement)) (cards().find((a) => a.getAttribute("href") === at) ?? el).focus();
    },
  };
}
