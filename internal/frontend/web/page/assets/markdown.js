// Markdown of a model, read into a tree: paragraphs, headings, lists, quotes,
// fences, tables, emphasis, code and links. HTML is text. Time and depth are
// bounded whatever the text is. markup.js makes elements of the tree.

const MAX_DEPTH = 12;
/** Length of a line from which it is not taken for a row of a table. */
const MAX_ROW = 4000;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const BULLET = /^( {0,3})([-*+])(?:( {1,4})(?=\S)|(?= {5})|\s*$)/;
const NUMBER = /^( {0,3})(\d{1,9})[.)](?:( {1,4})(?=\S)|(?= {5})|\s*$)/;
const DELIMITERS = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/**
 * The top-level blocks of a text as pieces of it, so that a reader of a text
 * that grows knows which of them are final: all but the last.
 */
export function pieces(text, from = 0) {
  const out = [];
  const lines = text.slice(from).split("\n");
  let at = from, begin = from, n = 0;
  while (n < lines.length) {
    const used = Math.max(1, blockLength(lines, n, 0));
    let end = at;
    for (let k = n; k < n + used; k++) end += lines[k].length + 1;
    if (lines.slice(n, n + used).some((l) => l.trim())) {
      out.push({ at: begin, text: text.slice(begin, Math.min(end, text.length)) });
    }
    begin = end;
    at = end;
    n += used;
  }
  return out;
}

/** The tree of a text: a list of blocks. */
export function parse(text) {
  return blocks(text.split("\n"), 0);
}

function blocks(lines, depth) {
  const out = [];
  for (let n = 0; n < lines.length;) {
    const used = Math.max(1, blockLength(lines, n, depth));
    const b = block(lines.slice(n, n + used), depth);
    if (b) out.push(b);
    n += used;
  }
  return out;
}

/** How many lines the block that begins at line n has. */
function blockLength(lines, n, depth) {
  const first = lines[n];
  if (!first.trim()) return 1;
  const fence = FENCE.exec(first);
  if (fence) {
    for (let k = n + 1; k < lines.length; k++) if (closes(lines[k], fence[1])) return k - n + 1;
    return lines.length - n;
  }
  if (HEADING.test(first) || RULE.test(first)) return 1;
  if (depth < MAX_DEPTH) {
    if (/^ {0,3}>/.test(first)) return quoteLength(lines, n);
    if (marker(first)) return listLength(lines, n);
  }
  if (isTable(lines, n)) {
    let k = n + 2;
    while (k < lines.length && lines[k].trim() && lines[k].includes("|") && lines[k].length <= MAX_ROW) k++;
    return k - n;
  }
  if (/^ {4}/.test(first)) {
    let k = n + 1, last = k;
    for (; k < lines.length && (!lines[k].trim() || /^ {4}/.test(lines[k])); k++) if (lines[k].trim()) last = k + 1;
    return last - n;
  }
  let k = n + 1;
  while (k < lines.length && lines[k].trim() && !interrupts(lines, k, depth)) k++;
  return k - n;
}

function closes(line, fence) {
  const m = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line);
  return m && m[1][0] === fence[0] && m[1].length >= fence.length;
}

/** Whether the line ends a paragraph before it. */
function interrupts(lines, n, depth) {
  const line = lines[n];
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return true;
  if (depth >= MAX_DEPTH) return false;
  if (/^ {0,3}>/.test(line)) return true;
  const m = marker(line);
  return !!m && !m.empty && (!m.ordered || m.start === 1) || isTable(lines, n);
}

function quoteLength(lines, n) {
  let k = n + 1;
  while (k < lines.length && lines[k].trim() && (/^ {0,3}>/.test(lines[k]) || !FENCE.test(lines[k]) && !HEADING.test(lines[k]) && !marker(lines[k]))) k++;
  return k - n;
}

/** The list marker that the line begins with: {ordered, kind, start, width, empty}, or null. */
function marker(line) {
  if (RULE.test(line)) return null;
  let m = BULLET.exec(line);
  if (m) return { ordered: false, kind: m[2], start: 0, width: m[1].length + 1 + (m[3]?.length ?? 1), empty: !line.slice(m[0].length).trim() };
  m = NUMBER.exec(line);
  if (!m) return null;
  const kind = line[m[1].length + m[2].length];
  return { ordered: true, kind, start: Number(m[2]), width: m[1].length + m[2].length + 1 + (m[3]?.length ?? 1), empty: !line.slice(m[0].length).trim() };
}

function indent(line) {
  let n = 0;
  while (line[n] === " ") n++;
  return n;
}

function listLength(lines, n) {
  const first = marker(lines[n]);
  let width = first.width, k = n + 1, last = k, blank = false, fence = "";
  for (; k < lines.length; k++) {
    const line = lines[k];
    if (!line.trim()) { blank = true; continue; }
    const inside = indent(line) >= width;
    if (fence) {
      if (closes(line.slice(Math.min(indent(line), width)), fence)) fence = "";
    } else if (inside) {
      const m = FENCE.exec(line.slice(width));
      if (m) fence = m[1];
    } else {
      const m = marker(line);
      if (m && m.ordered === first.ordered && m.kind === first.kind) width = m.width;
      else if (blank || m || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || /^ {0,3}>/.test(line)) break;
    }
    blank = false;
    last = k + 1;
  }
  return last - n;
}

function isTable(lines, n) {
  if (n + 1 >= lines.length || lines[n].length > MAX_ROW || lines[n + 1].length > MAX_ROW) return false;
  return lines[n].includes("|") && lines[n + 1].includes("-") && DELIMITERS.test(lines[n + 1]) &&
    cells(lines[n]).length === cells(lines[n + 1]).length;
}

function block(lines, depth) {
  const first = lines[0];
  if (!first.trim()) return null;
  const fence = FENCE.exec(first);
  if (fence) {
    const end = lines.length > 1 && closes(lines.at(-1), fence[1]) ? -1 : lines.length;
    const pad = indent(first);
    const text = lines.slice(1, end).map((l) => l.slice(Math.min(indent(l), pad))).join("\n");
    return { t: "code", lang: fence[2].trim().split(/\s/)[0].slice(0, 40), text };
  }
  const heading = HEADING.exec(first);
  if (heading) return { t: "heading", level: heading[1].length, c: inline(first.slice(heading[0].length).trim().replace(/(?<![^ \t])#+$/, "").trim()) };
  if (RULE.test(first)) return { t: "rule" };
  if (depth < MAX_DEPTH) {
    if (/^ {0,3}>/.test(first)) return { t: "quote", c: blocks(lines.map((l) => l.replace(/^ {0,3}> ?/, "")), depth + 1) };
    if (marker(first)) return list(lines, depth);
  }
  if (isTable(lines, 0)) return table(lines);
  if (/^ {4}/.test(first)) return { t: "code", lang: "", text: lines.map((l) => l.slice(4)).join("\n") };
  return { t: "p", c: inline(lines.map((l) => l.trimStart()).join("\n").trimEnd()) };
}

function list(lines, depth) {
  const first = marker(lines[0]), items = [];
  let width = first.width, loose = false, item = null, fence = "";
  lines.forEach((line, n) => {
    const m = !fence && indent(line) < width || n === 0 ? marker(line) : null;
    if (m) {
      width = m.width;
      if (n > 0 && !lines[n - 1].trim()) loose = true;
      items.push(item = [line.slice(width)]);
      const opens = FENCE.exec(item[0]);
      fence = opens ? opens[1] : "";
      return;
    }
    const text = line.slice(Math.min(indent(line), width));
    if (fence) { if (closes(text, fence)) fence = ""; } else fence = FENCE.exec(text)?.[1] ?? "";
    item.push(text);
  });
  return { t: first.ordered ? "ol" : "ul", start: first.start, loose, c: items.map((i) => listItem(i, depth + 1)) };
}

/** The blocks of an item of a list; `task` is "done" or "open" if the item is a task. */
function listItem(lines, depth) {
  const box = /^\[([ xX])\] +(?=\S)/.exec(lines[0]);
  if (!box) return blocks(lines, depth);
  const item = blocks([lines[0].slice(box[0].length), ...lines.slice(1)], depth);
  return Object.assign(item, { task: box[1] === " " ? "open" : "done" });
}

function cells(line) {
  const out = [];
  let cell = "", code = false;
  const text = line.trim().replace(/^\|/, "");
  for (let n = 0; n < text.length; n++) {
    const c = text[n];
    if (c === "\\" && text[n + 1] === "|") { cell += "|"; n++; continue; }
    if (c === "`") code = !code;
    if (c === "|" && !(code && text.indexOf("`", n) > 0)) { out.push(cell.trim()); cell = ""; continue; }
    cell += c;
  }
  if (cell.trim() || !text.endsWith("|")) out.push(cell.trim());
  return out;
}

function table(lines) {
  const align = cells(lines[1]).map((c) => {
    const left = c.startsWith(":"), right = c.endsWith(":");
    return left && right ? "center" : right ? "right" : "";
  });
  const row = (line) => {
    const list = cells(line).slice(0, align.length);
    while (list.length < align.length) list.push("");
    return list.map((c) => inline(c));
  };
  return { t: "table", align, head: row(lines[0]), rows: lines.slice(2).map(row) };
}

/** The address if it is one that a page may link to, else "". */
export function webAddress(text) {
  if (text.length > 2000 || !/^https?:\/\//i.test(text)) return "";
  try {
    const u = new URL(text);
    return u.protocol === "http:" || u.protocol === "https:" ? u.href : "";
  } catch {
    return "";
  }
}

const ORDINARY = /[^\\`\n*_~!\[\]<hH]+/y;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const BARE = /https?:\/\/[^\s<>"'`\u0000-\u001f]+/y;
const ANGLE = /<(https?:\/\/[^\s<>]{1,2000})>/y;
const TARGET = /\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]{0,500}"|'[^']{0,500}'))?\s*\)/y;

/** The tree of a line of text: strings and {t, c}. */
export function inline(text) {
  const root = { c: [] };
  const stack = []; // open marks: {mark, node} in order, and brackets
  const noRun = new Set(); // lengths of back-tick runs that have no partner any more
  let node = root, plain = "", brackets = 0;
  const flush = () => { if (plain) { node.c.push(plain); plain = ""; } };
  const open = (mark, child) => { flush(); stack.push({ mark, node, child }); node = child; };
  /** Ends the open marks down to index k; those above it were only text. */
  const close = (k) => {
    flush();
    while (stack.length - 1 > k) giveUp();
    const top = stack.pop();
    if (top.mark === "[") brackets--;
    node = top.node;
    return top.child;
  };
  const giveUp = () => {
    flush();
    const top = stack.pop();
    if (top.mark === "[") brackets--;
    node = top.node;
    node.c.push(top.mark);
    for (const child of top.child.c) node.c.push(child);
  };
  for (let n = 0; n < text.length;) {
    const run = at(ORDINARY, n);
    if (run) {
      plain += run[0];
      n += run[0].length;
      continue;
    }
    const c = text[n];
    if (c === "\\" && n + 1 < text.length) {
      if (text[n + 1] === "\n") { flush(); node.c.push({ t: "br" }); }
      else plain += PUNCTUATION.test(text[n + 1]) ? text[n + 1] : c + text[n + 1];
      n += 2;
    } else if (c === "`") {
      n = codeSpan(text, n, noRun, (span) => { flush(); node.c.push(span); }, (ticks) => { plain += ticks; });
    } else if (c === "\n") {
      if (plain.endsWith("  ")) { plain = plain.trimEnd(); flush(); node.c.push({ t: "br" }); } else plain += "\n";
      n++;
    } else if (c === "*" || c === "_" || c === "~") {
      let len = 1;
      while (text[n + len] === c) len++;
      emphasis(c, len, text[n - 1] ?? " ", text[n + len] ?? " ");
      n += len;
    } else if (c === "!" && text[n + 1] === "[") {
      n++; // an image is shown as a link to it
    } else if (c === "[" && brackets < 8) {
      brackets++;
      open("[", { c: [] });
      n++;
    } else if (c === "]" && brackets > 0) {
      n = link(n);
    } else if (c === "<" && at(ANGLE, n)) {
      const m = at(ANGLE, n), href = webAddress(m[1]);
      flush();
      node.c.push(href ? { t: "a", href, c: [m[1]] } : m[0]);
      n += m[0].length;
    } else if ((c === "h" || c === "H") && brackets === 0 && !/\w/.test(text[n - 1] ?? "") && at(BARE, n)) {
      const found = trimAddress(at(BARE, n)[0]), href = webAddress(found);
      flush();
      node.c.push(href ? { t: "a", href, c: [found] } : found);
      n += found.length;
    } else {
      plain += c;
      n++;
    }
  }
  while (stack.length) giveUp();
  flush();
  return root.c;

  function at(re, n) {
    re.lastIndex = n;
    return re.exec(text);
  }

  function emphasis(c, len, before, after) {
    const mark = c === "~" ? (len === 2 ? "~~" : "") : len === 1 ? c : len === 2 ? c + c : len === 3 ? c + c + c : "";
    if (!mark) { plain += c.repeat(len); return; }
    const word = c === "_" ? /[\p{L}\p{N}_]/u : null;
    const mayClose = !/\s/.test(before) && !(word && word.test(after));
    const mayOpen = !/\s/.test(after) && !(word && word.test(before));
    if (mayClose) {
      // Only as far as the innermost bracket, and at most 32 marks up.
      for (let k = stack.length - 1; k >= Math.max(0, stack.length - 32) && stack[k].mark !== "["; k--) {
        if (stack[k].mark === mark) {
          const child = close(k);
          node.c.push(emphasized(mark, child.c));
          return;
        }
      }
    }
    if (mayOpen && stack.length < 64) open(mark, { c: [] });
    else plain += mark;
  }

  function link(n) {
    let k = stack.length - 1;
    while (stack[k].mark !== "[") k--;
    const m = text[n + 1] === "(" ? at(TARGET, n + 1) : null;
    const child = close(k);
    const href = m ? webAddress(m[1]) : "";
    if (href) node.c.push({ t: "a", href, c: child.c });
    else {
      node.c.push("[");
      for (const one of child.c) node.c.push(one);
      node.c.push(m ? `]${m[0]}` : "]");
    }
    return n + 1 + (m ? m[0].length : 0);
  }
}

function emphasized(mark, c) {
  if (mark === "~~") return { t: "del", c };
  if (mark.length === 3) return { t: "strong", c: [{ t: "em", c }] };
  return { t: mark.length === 2 ? "strong" : "em", c };
}

function codeSpan(text, n, noRun, found, none) {
  let len = 1;
  while (text[n + len] === "`") len++;
  const from = n + len;
  if (!noRun.has(len)) {
    for (let k = text.indexOf("`", from); k >= 0;) {
      let run = 1;
      while (text[k + run] === "`") run++;
      if (run === len) {
        const code = text.slice(from, k).replaceAll("\n", " ");
        found({ t: "code", text: code.length > 2 && code.startsWith(" ") && code.endsWith(" ") && code.trim() ? code.slice(1, -1) : code });
        return k + run;
      }
      k = text.indexOf("`", k + run);
    }
    noRun.add(len);
  }
  none("`".repeat(len));
  return from;
}

/** A bare address ends before the punctuation of its sentence. */
function trimAddress(url) {
  let out = url.slice(0, 2000).replace(/[.,;:!?*_~'"]+$/, "");
  while (out.endsWith(")") && out.split("(").length < out.split(")").length) out = out.slice(0, -1).replace(/[.,;:!?]+$/, "");
  return out;
}
