// The changes that a session's calls made to files, as a review: by file, side by
// side or unified. A comment on a line becomes part of a message to the model.

import { diffLines, pairs, sessionChanges } from "./diff.js";
import { h, show, text } from "./dom.js";
import { count } from "./words.js";
import { named } from "./visible.js";

const MOST_LINES = 2000, OPEN_LINES = 400;
const KINDS = { create: "new file", delete: "deleted", move: "moved" };
const SIGN = { add: "+", del: "\u2212", keep: " ", hunk: "", head: "" };

/** The comments in words, for the model. */
export function reviewMessage(comments) {
  const parts = comments.map((c) => {
    const where = c.line === undefined ? c.path : `${c.path}:${c.line}${c.side === "old" ? " (before the change)" : ""}`;
    return `${where}\n> ${c.code.slice(0, 200)}\n${c.text}`;
  });
  return `Comments on your changes:\n\n${parts.join("\n\n")}`;
}

/** The changes by file: [{path, kind, added, removed, changes}], in the order of the first change. */
export function byFile(changes) {
  const files = new Map();
  for (const c of changes) {
    const f = files.get(c.path) ?? { path: c.path, from: c.from, kind: c.kind, added: 0, removed: 0, changes: [] };
    f.added += c.added;
    f.removed += c.removed;
    f.changes.push(c);
    files.set(c.path, f);
  }
  return [...files.values()];
}

/** A dialog: {open(state), isOpen()}. send(text) sends a message, keep(key, value) and kept(key) remember the layout. */
export function reviewView(dialog, { send, keep, kept }) {
  const words = h("p", { class: "faint" }), list = h("div", { class: "review-list" });
  const modes = h("div", { class: "modes", role: "radiogroup", "aria-label": "Layout" }, [["unified", "Unified"], ["split", "Side by side"]].map(([value, label]) =>
    h("label", null, h("input", { type: "radio", name: "layout", value, checked: value === (kept("settle.layout") || "unified") }), h("span", null, label))));
  const sendButton = h("button", { type: "button", class: "primary", on: { click: sendAll } });
  const hint = h("p", { class: "faint keys" }, h("kbd", null, "J"), " ", h("kbd", null, "K"), " move, ", h("kbd", null, "Enter"), " comments, ", h("kbd", null, "N"), " ", h("kbd", null, "P"), " next and previous file");
  dialog.replaceChildren(
    h("div", { class: "review-head" }, h("h2", { id: "changes-title" }, "Changes of this session"), modes),
    words, list, h("div", { class: "review-foot" }, hint, sendButton, h("button", { type: "button", on: { click: () => dialog.close() } }, "Close")));
  // By session: its comments, and the words of comments that are not added yet, by comment or line.
  const written = new Map();
  let comments = [], drafts = new Map(), files = [];

  modes.addEventListener("change", () => { keep("settle.layout", layout()); drawFiles(); });
  const layout = () => modes.querySelector("input:checked").value;

  function drawFiles() {
    dialog.classList.toggle("split", layout() === "split");
    list.replaceChildren(...files.map(fileElement));
    const first = list.querySelector(".gutter");
    if (first) first.tabIndex = 0;
    drawFoot();
  }

  function drawFoot() {
    show(sendButton, comments.length > 0);
    text(sendButton, `Send ${count(comments.length, "comment")}`);
    show(hint, files.some((f) => f.changes.some((c) => c.diff)));
  }

  function fileElement(f) {
    const total = f.changes.reduce((n, c) => n + c.lines.length, 0);
    const body = h("div", { class: "review-body" });
    const make = () => {
      if (body.firstChild) return;
      f.changes.forEach((c, n) => {
        if (f.changes.length > 1) body.append(h("p", { class: "faint part" }, `Change ${n + 1} of ${f.changes.length}`));
        body.append(...rowsOf(f, c.lines.slice(0, MOST_LINES)));
        if (c.cut || c.lines.length > MOST_LINES) body.append(h("p", { class: "faint part" }, "The rest of this change is not shown."));
      });
    };
    const button = h("button", { type: "button", class: "disclosure", on: { click: () => open(body.hidden) } },
      h("span", { class: "turner", "aria-hidden": "true" }),
      h("span", { class: "path" }, f.from && f.from !== f.path ? `${named(f.from)} \u2192 ${named(f.path)}` : named(f.path)),
      KINDS[f.kind] ? h("span", { class: "faint" }, KINDS[f.kind]) : null,
      h("span", { class: "counts" }, h("span", { class: "plus" }, `+${f.added}`), " ", h("span", { class: "minus" }, `\u2212${f.removed}`)));
    const open = (on) => {
      if (on) make();
      show(body, on);
      button.setAttribute("aria-expanded", String(on));
    };
    open(total <= OPEN_LINES);
    return h("section", { class: "file", "aria-label": named(f.path) }, h("h3", null, button), body);
  }

  /** The rows of a diff; a row has one cell, or two side by side. */
  function rowsOf(f, lines) {
    if (layout() === "unified") return lines.map((l) => row([cell(f, l)], f));
    const none = () => h("div", { class: "cell none" });
    return pairs(lines).map(([a, b]) => {
      if (a !== b) return row([a ? cell(f, a) : none(), b ? cell(f, b) : none()], f);
      return row(a.kind === "keep" ? [cell(f, a, true), cell(f, b)] : [cell(f, a)], f);
    });
  }

  function row(cells, f) {
    const el = h("div", { class: `review-row${cells.length === 2 ? " two" : ""}` }, cells);
    for (const c of comments) if (c.path === f.path && cells.some((one) => one.line === c.of && c.of)) el.append(commentElement(c, el));
    return el;
  }

  /** A line with its number, on which one comments; the copy before the change of a line that stays has none to press. */
  function cell(f, l, copy = false) {
    const at = copy ? l.old : l.new ?? l.old;
    const gutter = copy || l.kind === "hunk" || l.kind === "head" ? h("span", { class: "number" }, at)
      : h("button", { type: "button", class: "gutter number", tabindex: "-1", "aria-label": `Comment on ${at === undefined ? "this line" : `line ${at}`}${l.kind === "del" ? ", removed" : l.kind === "add" ? ", added" : ""}: ${l.text.trim().slice(0, 80)}`, on: { click: () => write(el, f, l) } }, at === undefined ? "\u00b7" : String(at));
    const el = h("div", { class: `cell line ${l.kind}` }, gutter, h("span", { class: "sign", "aria-hidden": "true" }, SIGN[l.kind]), h("span", { class: "text" }, named(l.text)));
    if (!copy) el.line = l;
    return el;
  }

  /** A box for a comment below the line. */
  function write(cellEl, f, l, before) {
    const rowEl = cellEl.closest(".review-row");
    rowEl.querySelector("form")?.remove();
    const box = h("textarea", { rows: "2", "aria-label": `Comment on ${named(f.path)}${l.new ?? l.old ? `, line ${l.new ?? l.old}` : ""}` });
    const draft = before ?? [f.path, l.kind, l.new ?? l.old, l.text].join("\n");
    box.value = drafts.get(draft) ?? before?.text ?? "";
    box.addEventListener("input", () => drafts.set(draft, box.value));
    const leave = () => { form.remove(); cellEl.querySelector(".gutter")?.focus(); };
    const back = () => { if (before) rowEl.append(commentElement(before, rowEl)); leave(); };
    const done = () => {
      const said = box.value.trim();
      drafts.delete(draft);
      if (before) comments.splice(comments.indexOf(before), 1);
      if (said) {
        const c = { path: f.path, line: l.new ?? l.old, side: l.kind === "del" ? "old" : "new", code: l.text, text: said, of: l };
        comments.push(c);
        rowEl.append(commentElement(c, rowEl));
      }
      leave();
      drawFoot();
    };
    const form = h("form", { class: "comment-form", on: { submit: (e) => { e.preventDefault(); done(); } } }, box,
      h("div", { class: "answers" }, h("button", { type: "submit", class: "primary" }, before ? "Change" : "Add comment"), h("button", { type: "button", class: "quiet", on: { click: () => { drafts.delete(draft); back(); } } }, "Cancel")));
    form.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); done(); }
      if (e.key === "Escape") { e.preventDefault(); e.stopPropagation(); back(); } // the words stay
    });
    rowEl.append(form);
    box.focus();
  }

  function commentElement(c, rowEl) {
    const el = h("div", { class: "comment" }, h("p", null, c.text),
      h("button", { type: "button", class: "quiet", on: { click: () => { el.remove(); write([...rowEl.querySelectorAll(".cell")].find((one) => one.line === c.of), { path: c.path }, c.of, c); } } }, "Edit"),
      h("button", { type: "button", class: "quiet", on: { click: () => { el.remove(); comments.splice(comments.indexOf(c), 1); drawFoot(); } } }, "Remove"));
    return el;
  }

  function sendAll() {
    send(reviewMessage(comments));
    comments.length = 0;
    dialog.close();
  }

  dialog.addEventListener("keydown", (e) => {
    if (e.target.closest("textarea, input:not([type=radio])") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.type === "radio" && e.key.startsWith("Arrow")) return;
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key], file = { n: 1, p: -1 }[e.key];
    if (!by && !file) return;
    e.preventDefault();
    const all = [...list.querySelectorAll(file ? ".file .disclosure" : ".gutter")].filter((el) => el.checkVisibility());
    const here = file ? all.indexOf(document.activeElement.closest(".file")?.querySelector(".disclosure")) : all.indexOf(document.activeElement);
    const next = all[here < 0 ? 0 : Math.min(all.length - 1, Math.max(0, here + (by ?? file)))];
    for (const el of file ? [] : list.querySelectorAll(".gutter[tabindex='0']")) el.tabIndex = -1;
    if (!next) return;
    next.tabIndex = 0;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  });

  return {
    open(id, state) {
      if (!written.has(id)) written.set(id, { comments: [], drafts: new Map() });
      ({ comments, drafts } = written.get(id));
      const all = sessionChanges(state).filter((f) => f.diff || f.kind);
      files = byFile(all.map((c) => ({ ...c, lines: c.diff ? diffLines(c.diff).filter((l) => l.kind !== "head" || l.text.startsWith("\\")) : [] })));
      // What was commented on is found again, though its line was read anew.
      for (const c of comments) c.of = files.find((f) => f.path === c.path)?.changes.flatMap((one) => one.lines).find((l) => (l.new ?? l.old) === c.line && l.text === c.code && l.kind === c.of?.kind);
      text(words, all.length ? `${count(all.length, "change")} of ${count(files.length, "file")}${state.earlier ? ", without those of the turns that are not read yet" : ""}.` : "The file tools changed nothing. Commands may have.");
      show(modes, all.length > 0);
      drawFiles();
      dialog.showModal();
      list.querySelector(".gutter")?.focus();
    },
    isOpen: () => dialog.open,
  };
}
