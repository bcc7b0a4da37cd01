// A menu behind a button, for what is rarely wanted.

import { show } from "./dom.js";

/** {open(), close()}; close says whether it was open. Arrow keys move in it, Escape leaves it. */
export function menuView(button, menu) {
  const items = () => [...menu.querySelectorAll("[role=menuitem]")].filter((i) => i.checkVisibility() && !i.disabled);
  const set = (on) => {
    show(menu, on);
    button.setAttribute("aria-expanded", String(on));
  };
  const close = () => {
    const was = !menu.hidden;
    set(false);
    return was;
  };
  const open = (n) => {
    set(true);
    items().at(n)?.focus();
  };
  button.addEventListener("click", () => { if (!close()) open(0); });
  button.addEventListener("keydown", (e) => {
    const n = { ArrowDown: 0, ArrowUp: -1 }[e.key];
    if (n === undefined) return;
    e.preventDefault();
    open(n);
  });
  menu.addEventListener("keydown", (e) => {
    const all = items(), here = all.indexOf(document.activeElement);
    const next = { ArrowDown: (here + 1) % all.length, ArrowUp: (here - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[e.key];
    if (e.key === "Tab") close();
    else if (next !== undefined) { e.preventDefault(); all[next]?.focus(); }
    else if (/^[a-z]$/i.test(e.key) && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      all.find((i) => i.textContent.toLowerCase().startsWith(e.key.toLowerCase()))?.focus();
    }
  });
  menu.addEventListener("click", (e) => {
    const target = e.target.closest("[role=menuitem]");
    if (!target) return;
    close();
    button.focus();
    if (target.dataset.for) document.getElementById(target.dataset.for).click();
  }, { capture: true });
  document.addEventListener("click", (e) => { if (!menu.contains(e.target) && !button.contains(e.target)) close(); });
  return { close };
}
