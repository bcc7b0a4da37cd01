// The transcript: rows in blocks, of which only those near the window have
// elements; the others are as high as they were, or are guessed to be. What a
// reader looks at stays where it is, whatever is drawn above it; a reader at the
// end stays at the end.

import { h, show, text } from "./dom.js";
import { endView, rowView } from "./row.js";

const BLOCK_ROWS = 24;
const NEAR = 1200; // pixels around the window within which blocks are drawn
const GUESS = { item: 64, turn: 90, joined: 80, attempt: 40, change: 40, end: 120, session: 40 };

export function transcriptView(scroller, app) {
  const list = h("div", { class: "blocks" }), foot = h("div", { class: "foot" }), empty = h("div", { class: "empty" });
  const earlier = h("button", { type: "button", class: "quiet earlier", hidden: true, on: { click: () => app.earlier() } });
  const column = h("div", { class: "column" }, empty, earlier, list, foot);
  const latest = h("button", { type: "button", class: "latest", hidden: true, on: { click: () => toEnd() } }, "Latest");
  scroller.replaceChildren(column);
  scroller.after(latest);
  let blocks = [], blockOf = new Map(), byElement = new Map(), dirty = new Set();
  let stuck = true, lastTop = 0, running = null; // the foot of the turn that runs: {turn, view}

  const nearby = new IntersectionObserver((entries) => keep(() => {
    for (const entry of entries) {
      const b = byElement.get(entry.target);
      if (b) entry.isIntersecting ? draw(b) : fade(b);
    }
  }), { root: scroller, rootMargin: `${NEAR}px 0px` });
  const sized = new ResizeObserver(() => { if (stuck) pin(); });
  sized.observe(column);
  sized.observe(scroller);
  scroller.addEventListener("scroll", () => {
    const rest = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    // Only moving up leaves the end: what is around may grow at any time.
    if (rest < 8) setStuck(true);
    else if (scroller.scrollTop < lastTop - 1) setStuck(false);
    lastTop = scroller.scrollTop;
  }, { passive: true });
  scroller.addEventListener("wheel", (e) => { if (e.deltaY < 0 && scroller.scrollTop > 0 && scroller.scrollHeight > scroller.clientHeight) setStuck(false); }, { passive: true });

  function setStuck(on) {
    stuck = on;
    show(latest, !on);
  }

  function pin() {
    scroller.scrollTop = empty.hidden ? scroller.scrollHeight : 0; // what is there before the first message is read from its beginning
    lastTop = scroller.scrollTop;
  }

  /** Runs f, which changes the transcript, without moving what is looked at. */
  function keep(f) {
    if (stuck) { f(); pin(); return; }
    const anchor = lookedAt();
    const before = anchor?.getBoundingClientRect().top;
    f();
    if (anchor?.isConnected) {
      const by = anchor.getBoundingClientRect().top - before;
      if (Math.abs(by) > 0.5) scroller.scrollTop += by;
    }
  }

  /** The first row, or else block, that reaches into the window. */
  function lookedAt() {
    const top = scroller.getBoundingClientRect().top;
    let low = 0, high = blocks.length;
    while (low < high) {
      const mid = low + high >> 1;
      if (blocks[mid].el.getBoundingClientRect().bottom <= top) low = mid + 1; else high = mid;
    }
    const b = blocks[low];
    if (!b) return foot;
    if (!b.views) return b.el;
    for (const el of b.el.children) if (!el.hidden && el.getBoundingClientRect().bottom > top) return el;
    return b.el;
  }

  function newBlock() {
    const b = { el: h("div", { class: "block" }), rows: [], views: null, height: 0 };
    blocks.push(b);
    byElement.set(b.el, b);
    list.append(b.el);
    nearby.observe(b.el);
    return b;
  }

  function draw(b) {
    if (b.views) return;
    b.views = new Map(b.rows.map((row) => [row.key, rowView(row, app)]));
    b.el.style.height = "";
    b.el.replaceChildren(...[...b.views.values()].map((v) => v.el));
  }

  /** Takes the elements of a block away, unless somebody is in it. */
  function fade(b) {
    if (!b.views || b.el.contains(document.activeElement) || blocks.indexOf(b) >= blocks.length - 2) return;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && selection.containsNode(b.el, true)) return;
    b.height = b.el.offsetHeight;
    for (const v of b.views.values()) v.stop?.();
    b.views = null;
    b.el.replaceChildren();
    b.el.style.height = `${b.height}px`;
  }

  function add(row) {
    let b = blocks.at(-1);
    if (!b || b.rows.length >= BLOCK_ROWS) b = newBlock();
    b.rows.push(row);
    blockOf.set(row.key, b);
    if (row.kind === "turn" && !row.of.cause) setRunning(row.of);
    if (!b.views) {
      b.height += GUESS[row.kind];
      b.el.style.height = `${b.height}px`;
      if (row.kind === "end") setRunning(null);
      return;
    }
    let view;
    if (row.kind === "end" && running?.turn === row.of) {
      view = running.view; // the same elements: nothing flickers
      view.el.dataset.key = row.key;
      running = null;
      view.update();
    } else {
      view = rowView(row, app);
      if (row.kind === "end") setRunning(null);
    }
    b.views.set(row.key, view);
    b.el.append(view.el);
  }

  function setRunning(turn) {
    if (running) {
      running.view.stop?.();
      running.view.el.remove();
    }
    running = null;
    if (!turn) return;
    const view = endView(turn, app);
    view.el.classList.add("row");
    view.el.tabIndex = -1;
    view.update();
    running = { turn, view };
    foot.append(view.el);
  }

  function clear() {
    nearby.disconnect();
    for (const b of blocks) for (const v of b.views?.values() ?? []) v.stop?.();
    setRunning(null);
    blocks = [];
    blockOf = new Map();
    byElement = new Map();
    dirty = new Set();
    list.replaceChildren();
  }

  function lastDrawn() {
    for (const b of blocks.slice(-2)) draw(b);
  }

  function toEnd() {
    setStuck(true);
    lastDrawn();
    pin();
  }

  /** Draws the row if need be, and puts it into the window and the focus on it. */
  function goTo(key, focus = true) {
    const b = blockOf.get(key);
    if (!b) return false;
    setStuck(false);
    keep(() => draw(b));
    const el = b.views.get(key)?.el;
    if (!el || el.hidden) return false;
    el.scrollIntoView({ block: "center" });
    if (focus) el.focus({ preventScroll: true });
    return true;
  }

  const viewOf = (key) => blockOf.get(key)?.views?.get(key)?.el;

  /** Moves the focus by one row up or down. */
  function step(by) {
    const rows = blocks.flatMap((b) => b.rows);
    const here = document.activeElement?.closest?.(".row");
    let n = here ? rows.findIndex((r) => r.key === here.dataset.key) : -1;
    if (n < 0) n = by < 0 ? rows.length : rows.findIndex((r) => r.key === lookedAt()?.dataset?.key) - 1;
    for (n += by; n >= 0 && n < rows.length; n += by) {
      if (goTo(rows[n].key)) return;
    }
  }

  return {
    /**
     * Shows these rows and nothing else, at their end, or with the row of the
     * key where it was. Before them are so many turns that were not read.
     */
    reset(rows, unread = 0, key = "") {
      const place = key && viewOf(key)?.getBoundingClientRect().top;
      clear();
      show(earlier, unread > 0);
      text(earlier, `Show earlier turns (${unread})`);
      for (const row of rows) add(row);
      toEnd();
      if (place === "" || place === undefined || !goTo(key, false)) return;
      scroller.scrollTop += viewOf(key).getBoundingClientRect().top - place;
    },
    /** The first turn that is shown. */
    first: () => blocks.flatMap((b) => b.rows).find((r) => r.kind === "turn")?.key ?? "",
    /** Adds rows and draws anew those with the keys. */
    apply(rows, touched) {
      for (const key of touched) dirty.add(key);
      if (!rows.length && !dirty.size && !running) return;
      keep(() => {
        for (const row of rows) add(row);
        for (const key of dirty) blockOf.get(key)?.views?.get(key)?.update();
        dirty.clear();
        running?.view.update();
        if (stuck) lastDrawn();
      });
    },
    setEmpty(...nodes) {
      if (nodes.length !== empty.childNodes.length || nodes.some((n, at) => n !== empty.childNodes[at])) empty.replaceChildren(...nodes);
      show(empty, nodes.length > 0);
    },
    goTo, step, toEnd,
    isDrawn: (key) => !!blockOf.get(key)?.views,
  };
}
