// Text of tools and models as a person may safely read it: colours of terminals
// become classes or are left out, lines that were overwritten show their last state, and
// characters that hide or reorder text are shown by name.

// CSI sequences, OSC strings (titles, links) and two-character escapes.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** What a terminal would show of the text, without colours. */
export function terminal(text) {
  let out = text;
  if (out.includes("\u001b")) out = out.replace(ESCAPES, "");
  if (out.includes("\r")) {
    out = out.replaceAll("\r\n", "\n").split("\n").map((l) => {
      const end = l.replace(/\r+$/, "");
      return end.slice(end.lastIndexOf("\r") + 1);
    }).join("\n");
  }
  return named(out);
}

const TOKENS = /\u001b\[([0-9;:]*)m|\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|\r\n|\r|\n/g;
const MOST_SPANS = 20_000;

/** What a terminal would show of the text, in pieces {text, style}; style is classes, "" for none. */
export function terminalSpans(text) {
  const out = [];
  let line = [], over = false, sgr = {};
  const push = (list, piece, style) => {
    if (!piece) return;
    if (list.at(-1)?.style === style) list.at(-1).text += piece; else list.push({ text: piece, style });
  };
  const say = (piece) => {
    if (!piece) return;
    if (over) line = [];
    over = false;
    push(line, named(piece), out.length < MOST_SPANS ? styleOf(sgr) : "");
  };
  const flush = (end) => {
    for (const one of line) push(out, one.text, one.style);
    push(out, end, out.at(-1)?.style ?? "");
    line = [];
    over = false;
  };
  let at = 0;
  for (const m of text.matchAll(TOKENS)) {
    say(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[0] === "\n" || m[0] === "\r\n") flush("\n");
    else if (m[0] === "\r") over = true;
    else if (m[1] !== undefined) sgr = rendition(sgr, m[1]);
  }
  say(text.slice(at));
  flush("");
  return out;
}

/** The style after a sequence "select graphic rendition". */
function rendition(before, codes) {
  const s = { ...before }, list = codes.split(/[;:]/).map(Number);
  for (let n = 0; n < list.length; n++) {
    const c = list[n];
    if (c === 0) { for (const k of Object.keys(s)) delete s[k]; }
    else if (c === 1) s.bold = true;
    else if (c === 2) s.dim = true;
    else if (c === 3) s.italic = true;
    else if (c === 4) s.underline = true;
    else if (c === 7) s.inverse = true;
    else if (c === 9) s.struck = true;
    else if (c === 22) { delete s.bold; delete s.dim; }
    else if (c === 23) delete s.italic;
    else if (c === 24) delete s.underline;
    else if (c === 27) delete s.inverse;
    else if (c === 29) delete s.struck;
    else if (c >= 30 && c <= 37) s.color = c - 30;
    else if (c >= 90 && c <= 97) s.color = c - 90;
    else if (c === 39) delete s.color;
    else if (c >= 40 && c <= 47 || c >= 100 && c <= 107) s.ground = true;
    else if (c === 49) delete s.ground;
    else if (c === 38 || c === 48) {
      const rgb = list[n + 1] === 2 ? list.slice(n + 2, n + 5) : list[n + 1] === 5 ? paletteOf(list[n + 2]) : null;
      n += list[n + 1] === 2 ? 4 : 2;
      if (c === 48) s.ground = true; else if (rgb) s.color = nearest(rgb);
    }
  }
  return s;
}

/** The red, green and blue of one of 256 colours. */
function paletteOf(n) {
  if (!(n >= 0 && n < 256)) return null;
  if (n < 16) return [n & 1, n >> 1 & 1, n >> 2 & 1].map((bit) => bit * 255);
  if (n >= 232) return Array(3).fill((n - 232) * 10 + 8);
  return [Math.floor((n - 16) / 36), Math.floor((n - 16) / 6) % 6, (n - 16) % 6].map((v) => v ? v * 40 + 55 : 0);
}

/** The one of eight colours that a red, green and blue comes near: those are readable in both themes. */
function nearest(rgb) {
  const most = Math.max(...rgb), least = Math.min(...rgb);
  if (!(most - least > 40)) return most > 127 ? 7 : 0;
  return rgb.reduce((bits, v, n) => bits | (v > (most + least) / 2 ? 1 << n : 0), 0);
}

/** Classes from a fixed list. */
function styleOf(s) {
  const names = [];
  if (s.color >= 1 && s.color <= 6) names.push(`ansi-${s.color}`);
  else if (s.color === 0 || s.color === 7) names.push("ansi-7");
  for (const name of ["bold", "dim", "italic", "underline", "struck"]) if (s[name]) names.push(`ansi-${name}`);
  if (s.ground || s.inverse) names.push("ansi-ground");
  return names.join(" ");
}

/** The text with what hides or reorders it shown by name, such as ⟨U+202E⟩. */
export function named(text) {
  return text.replace(HIDDEN, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The same for prose, where marks of direction belong to the writing. */
export function prose(text) {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, named);
}
