// Text of tools and models as a person may safely read it: colours of terminals
// are left out, lines that were overwritten show their last state, and
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

/** The text with what hides or reorders it shown by name, such as ⟨U+202E⟩. */
export function named(text) {
  return text.replace(HIDDEN, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The same for prose, where marks of direction belong to the writing. */
export function prose(text) {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, named);
}
