// Completion of paths: after "@", the files of the working directory that have the
// letters are offered. The list is below the caret's line for a reader of the
// screen, too: the box says which entry is chosen.

import * as api from "./api.js";
import { h, show, toggle } from "./dom.js";
import { named } from "./visible.js";

/** The word with "@" that ends at the caret: {from, letters}, or null. */
export function wordBefore(value, at) {
  const m = /(?:^|\s)@("?)([^\s"]*)$/.exec(value.slice(0, at));
  if (!m) return null;
  return { from: at - m[1].length - m[2].length - 1, letters: m[2] };
}

/** What stands for a path in a message. */
export function pathWord(path) {
  if (/\s/.test(path)) return `@"${path}" `;
  return path.endsWith("/") ? `@${path}` : `@${path} `;
}

/** Offers paths for the box, in a list: {el, update(), key(event), close()}. */
export function completionView(box, changed) {
  const el = h("ul", { id: "paths", class: "paths", role: "listbox", "aria-label": "Files", hidden: true });
  box.setAttribute("aria-controls", "paths");
  box.setAttribute("aria-autocomplete", "list");
  let word = null, paths = [], chosen = 0, dismissed = -1, asked = 0;

  async function update() {
    const next = box.selectionStart === box.selectionEnd ? wordBefore(box.value, box.selectionStart) : null;
    if (!next) { dismissed = -1; close(); return; }
    if (next.from === dismissed && next.letters) { close(); return; }
    dismissed = -1;
    if (word && word.from === next.from && word.letters === next.letters) return;
    word = next;
    const mine = ++asked;
    const found = await api.files(next.letters).catch(() => []);
    if (mine !== asked) return; // more was typed meanwhile
    paths = found;
    chosen = 0;
    draw();
  }

  function draw() {
    el.replaceChildren(...paths.map((path, n) => h("li", {
      id: `path-${n}`, role: "option", "aria-selected": String(n === chosen), class: n === chosen ? "chosen" : "",
      on: { mousedown: (e) => e.preventDefault() /* the box keeps the focus */, click: () => accept(path) },
    }, named(path))));
    show(el, paths.length > 0);
    if (paths.length) choose(chosen); else box.removeAttribute("aria-activedescendant");
  }

  function choose(n) {
    chosen = (n + paths.length) % paths.length;
    [...el.children].forEach((li, k) => {
      toggle(li, "chosen", k === chosen);
      li.setAttribute("aria-selected", String(k === chosen));
    });
    box.setAttribute("aria-activedescendant", `path-${chosen}`);
    el.children[chosen].scrollIntoView({ block: "nearest" });
  }

  function accept(path) {
    const at = box.selectionStart, put = pathWord(path);
    box.setRangeText(put, word.from, at, "end");
    close();
    changed();
    box.focus();
    if (put.endsWith("/")) update(); // what is in the directory
  }

  function close() {
    word = null;
    asked++;
    paths = [];
    if (!el.hidden) draw();
  }

  return {
    el, update, close,
    /** Whether the key was for the list. */
    key(e) {
      if (el.hidden || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return false;
      switch (e.key) {
        case "ArrowDown": choose(chosen + 1); return true;
        case "ArrowUp": choose(chosen - 1); return true;
        case "Escape": dismissed = word.from; close(); return true;
        case "Tab":
        case "Enter":
          if (e.shiftKey) return false;
          if (e.key === "Enter" && paths[chosen] === word.letters) { close(); return false; } // it is there already: it is sent
          accept(paths[chosen]);
          return true;
      }
      return false;
    },
  };
}
