// Code in colors: comments, strings, numbers and keywords, told apart by a table
// (languages.js). The terminal reads code by the same table, in the same way.

import { languages } from "./languages.js";

/** Code that is longer is shown without colors. */
const MOST_CODE = 60_000;

const byName = new Map(languages.flatMap((l) => l.names.map((name) => [name, l])));
const words = new Map();
const LETTER = /\p{L}/u, DIGIT = /\p{Nd}/u, WORD = /[\p{L}\p{Nd}_]/u;

/** The language's keywords, as a set. */
function keywords(l) {
  if (!words.has(l)) words.set(l, new Set(l.keywords.split(" ").filter(Boolean)));
  return words.get(l);
}

/** The pieces of a text: [kind, text], with kind "comment", "string", "number", "keyword" or "". */
export function highlight(name, code) {
  const l = byName.get(name.toLowerCase());
  if (!l || code.length > MOST_CODE) return [["", code]];
  const out = [];
  const add = (kind, text) => {
    if (!text) return;
    const last = out.at(-1);
    if (last && last[0] === kind) last[1] += text; else out.push([kind, text]);
  };
  let inside = "";
  code.split("\n").forEach((line, n) => {
    if (n > 0) add(inside ? blockKind(inside) : "", "\n");
    inside = highlightLine(l, inside, line, add);
  });
  return out;
}

/** A comment or a string of several lines, by its end. */
const blockKind = (end) => /["'`\]]/.test(end) ? "string" : "comment";

function highlightLine(l, inside, line, add) {
  let at = 0;
  if (inside) {
    const end = line.indexOf(inside);
    if (end < 0) { add(blockKind(inside), line); return inside; }
    at = end + inside.length;
    add(blockKind(inside), line.slice(0, at));
  }
  while (at < line.length) {
    if (l.line?.some((mark) => line.startsWith(mark, at))) { add("comment", line.slice(at)); return ""; }
    const block = l.blocks?.find(([begin]) => line.startsWith(begin, at));
    if (block) {
      const end = line.indexOf(block[1], at + block[0].length);
      if (end < 0) { add(blockKind(block[1]), line.slice(at)); return block[1]; }
      add(blockKind(block[1]), line.slice(at, end + block[1].length));
      at = end + block[1].length;
      continue;
    }
    const c = String.fromCodePoint(line.codePointAt(at));
    let kind = "", n = c.length;
    if (l.quotes.includes(c)) { kind = "string"; n = quoted(line, at); }
    else if (DIGIT.test(c)) { kind = "number"; n = word(line, at, true); }
    else if (LETTER.test(c) || c === "_") {
      n = word(line, at, false);
      const said = line.slice(at, at + n);
      if (keywords(l).has(l.names[0] === "sql" ? said.toLowerCase() : said)) kind = "keyword";
    }
    add(kind, line.slice(at, at + n));
    at += n;
  }
  return "";
}

/** Length of the string that begins there; one that does not end is a quote alone, such as an apostrophe. */
function quoted(line, at) {
  for (let n = at + 1; n < line.length; n++) {
    if (line[n] === "\\") n++;
    else if (line[n] === line[at]) return n + 1 - at;
  }
  return 1;
}

/** Length of the name or number that begins there. */
function word(line, at, isNumber) {
  let n = at;
  while (n < line.length) {
    const c = String.fromCodePoint(line.codePointAt(n));
    if (!WORD.test(c) && !(c === "." && isNumber)) break;
    n += c.length;
  }
  return n - at;
}
