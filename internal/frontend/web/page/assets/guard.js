// What keeps one view that cannot be drawn from taking the page with it: the view's
// place shows the raw text, and everything around it is drawn as ever.

import { h } from "./dom.js";
import { content } from "./fold.js";
import { named } from "./visible.js";

const MOST_RAW = 20_000;

/** The data of a row in words, for a person who has to do without a view of it. */
function rawText(of) {
  try {
    const { itemById, items, attempts, approvals, ...rest } = of.content ? { ...of, content: content(of) } : of;
    const raw = JSON.stringify(rest, null, 1);
    return named(raw.length > MOST_RAW ? `${raw.slice(0, MOST_RAW)}\u2026` : raw);
  } catch {
    return named(String(of));
  }
}

/** The nodes that stand for something that cannot be shown. */
export function unshown(what, of, err) {
  console.error(`cannot show ${what}:`, err);
  return [h("p", { class: "ending" }, `Cannot show this ${what}; its raw text:`), h("pre", { class: "output", tabindex: "0", "aria-label": "Raw text" }, rawText(of))];
}

/** The view that make makes, {el, update(), stop?()}; once that fails, the raw text in its place. */
export function guarded(what, of, make) {
  let view = null, failed = false;
  const fail = (err) => {
    failed = true;
    view ??= { el: h("div", { class: "item" }) };
    view.el.hidden = false;
    view.el.classList.add("unshown");
    view.el.replaceChildren(...unshown(what, of, err));
  };
  try { view = make(); } catch (err) { fail(err); }
  return {
    el: view.el,
    update() {
      try {
        if (failed) view.el.lastElementChild.textContent = rawText(of);
        else view.update();
      } catch (err) { fail(err); }
    },
    stop() { view.stop?.(); },
  };
}

/** Does each of the steps, also if one of them fails; the failures are for the console. */
export function eachOf(...steps) {
  for (const step of steps) {
    try { step(); } catch (err) { console.error(err); }
  }
}
