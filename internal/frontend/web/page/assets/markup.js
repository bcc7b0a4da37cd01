// Elements of Markdown trees, and a view of a text that grows.

import { h } from "./dom.js";
import { diffLines, looksLikeDiff } from "./diff.js";
import { highlight } from "./highlight.js";
import { parse, pieces } from "./markdown.js";
import { named } from "./visible.js";

/** A view of a text: update(text) changes only the blocks that changed. */
export function markdownView() {
  const el = h("div", { class: "prose", dir: "auto" });
  let drawn = []; // {at, text, nodes}
  let last = "";
  return {
    el,
    update(text) {
      if (text === last) return;
      // What is before the last block does not change while the text only grows.
      const grows = text.startsWith(last) && drawn.length > 0;
      const keep = grows ? drawn.length - 1 : 0;
      const list = pieces(text, grows ? drawn[keep].at : 0);
      last = text;
      for (const old of drawn.slice(keep)) for (const node of old.nodes) node.remove();
      drawn = drawn.slice(0, keep);
      for (const piece of list) {
        const nodes = parse(piece.text).map(blockElement);
        el.append(...nodes);
        drawn.push({ ...piece, nodes });
      }
    },
  };
}

function blockElement(b) {
  switch (b.t) {
    case "p": return h("p", null, inlineNodes(b.c));
    // The page's own headings go to level 2.
    case "heading": return h(`h${Math.min(6, b.level + 2)}`, { class: `h${b.level}` }, inlineNodes(b.c));
    case "rule": return h("hr");
    case "quote": return h("blockquote", null, b.c.map(blockElement));
    case "code": return codeBlock(b.text, b.lang);
    case "ul":
    case "ol": return listElement(b);
    case "table": return tableElement(b);
  }
  throw new Error(`no element for ${b.t}`);
}

function listElement(b) {
  const item = (blocks) => {
    const tight = !b.loose && blocks[0]?.t === "p";
    const rest = (tight ? blocks.slice(1) : blocks).map(blockElement);
    const box = blocks.task && h("span", { class: "box", role: "img", "aria-label": blocks.task }, blocks.task === "done" ? "\u2611 " : "\u2610 ");
    return h("li", { class: blocks.task && "task" }, box, tight ? inlineNodes(blocks[0].c) : null, rest);
  };
  return h(b.t, { start: b.t === "ol" && b.start !== 1 ? String(b.start) : undefined }, b.c.map(item));
}

function tableElement(b) {
  const row = (cells, tag) => h("tr", null, cells.map((c, n) => h(tag, { class: b.align[n] || undefined, scope: tag === "th" ? "col" : undefined }, inlineNodes(c))));
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" },
    h("table", null, h("thead", null, row(b.head, "th")), h("tbody", null, b.rows.map((r) => row(r, "td")))));
}

function inlineNodes(list) {
  return list.map((c) => {
    if (typeof c === "string") return c;
    switch (c.t) {
      case "code": return h("code", null, named(c.text));
      case "br": return h("br");
      case "a": return h("a", { href: c.href, title: c.href, rel: "noopener noreferrer nofollow", target: "_blank" }, inlineNodes(c.c));
    }
    return h(c.t, null, inlineNodes(c.c));
  });
}

/** A block of code with its language and a button that copies it. */
export function codeBlock(code, lang) {
  if (lang === "diff" || lang === "patch" || !lang && looksLikeDiff(code)) return diffBlock(code);
  const copy = h("button", { type: "button", class: "quiet copy", on: { click: () => copyText(code, copy) } }, "Copy");
  return h("div", { class: "code" },
    h("div", { class: "code-head" }, h("span", null, lang), copy),
    h("pre", { tabindex: "0", "aria-label": lang ? `Code, ${lang}` : "Code" }, h("code", null, colored(lang, code))));
}

/** Code in colors, as text nodes and spans. */
function colored(lang, code) {
  return highlight(lang, code).map(([kind, text]) => kind ? h("span", { class: `code-${kind}` }, named(text)) : named(text));
}

async function copyText(code, button) {
  try {
    await navigator.clipboard.writeText(code);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

const MOST_LINES = 2000;

/** A unified diff, coloured and with signs, so that it can be read without colours too. */
export function diffBlock(diff) {
  const lines = diffLines(diff);
  const sign = { add: "+", del: "\u2212", keep: " ", hunk: "", head: "" };
  const number = (n) => n === undefined ? "" : String(n);
  const rows = lines.slice(0, MOST_LINES).filter((l) => l.kind !== "head" || l.text.startsWith("\\") || !/^(?:---|\+\+\+) /.test(l.text)).map((l) =>
    h("div", { class: `line ${l.kind}` },
      h("span", { class: "number", "aria-hidden": "true" }, number(l.new ?? l.old)),
      h("span", { class: "sign" }, sign[l.kind]),
      h("span", { class: "text" }, named(l.text))));
  if (lines.length > MOST_LINES) rows.push(h("div", { class: "line head" }, `${lines.length - MOST_LINES} more lines`));
  return h("div", { class: "diff", tabindex: "0", role: "region", "aria-label": "Diff" }, h("div", { class: "lines" }, rows));
}
