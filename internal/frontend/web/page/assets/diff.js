// Unified diffs, read into lines: {kind, text, old, new}.

/** The kind of a line by its sign alone. */
const signs = { "+": "add", "-": "del", " ": "keep" };

/**
 * kind is add, del, keep, hunk or head. Numbers are those of the files' lines. Lines
 * outside of a hunk, which models write, have the kind of their sign and no number.
 */
export function diffLines(text) {
  const out = [];
  let a = 0, b = 0, leftA = 0, leftB = 0;
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (leftA <= 0 && leftB <= 0 || hunk) {
      if (hunk) {
        a = Number(hunk[1]);
        b = Number(hunk[3]);
        leftA = Number(hunk[2] ?? 1);
        leftB = Number(hunk[4] ?? 1);
        out.push({ kind: "hunk", text: line });
      } else if (signs[line[0]] && !/^(?:--- |\+\+\+ )/.test(line)) out.push({ kind: signs[line[0]], text: line.slice(1) });
      else out.push({ kind: "head", text: line });
    } else if (line.startsWith("+")) {
      out.push({ kind: "add", text: line.slice(1), new: b++ });
      leftB--;
    } else if (line.startsWith("-")) {
      out.push({ kind: "del", text: line.slice(1), old: a++ });
      leftA--;
    } else if (line.startsWith("\\")) {
      out.push({ kind: "head", text: line });
    } else {
      out.push({ kind: "keep", text: line.slice(1), old: a++, new: b++ });
      leftA--;
      leftB--;
    }
  }
  return out;
}

/**
 * The lines side by side: [before, after], with null where there is nothing. A line
 * that both sides have is the same object in both places.
 */
export function pairs(lines) {
  const out = [];
  for (let n = 0; n < lines.length;) {
    if (lines[n].kind !== "add" && lines[n].kind !== "del") { out.push([lines[n], lines[n]]); n++; continue; }
    const gone = [], come = [];
    while (lines[n]?.kind === "del") gone.push(lines[n++]);
    while (lines[n]?.kind === "add") come.push(lines[n++]);
    for (let m = 0; m < Math.max(gone.length, come.length); m++) out.push([gone[m] ?? null, come[m] ?? null]);
  }
  return out;
}

/** Whether a text looks like a unified diff. */
export function looksLikeDiff(text) {
  return /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text.slice(0, 20_000)) && /^(?:--- |diff --git )/m.test(text.slice(0, 20_000));
}

/**
 * The diffs that a detail of a call or an approval carries: a list of
 * {path, from, kind, diff, cut, added, removed}. Details of another shape give none.
 */
export function changes(detail) {
  if (!detail || typeof detail !== "object") return [];
  if (typeof detail.diff === "string") return [one(detail)];
  const files = Array.isArray(detail.files) ? detail.files : [];
  return files.filter((f) => f && typeof f === "object" && typeof (f.path ?? f.diff) === "string").map(one);
}

function one(f) {
  const text = (v) => typeof v === "string" ? v : "";
  const number = (v) => Number.isFinite(v) ? v : 0;
  return { path: text(f.path), from: text(f.from), kind: text(f.kind), diff: text(f.diff), cut: !!f.cut, added: number(f.added), removed: number(f.removed) };
}

/** The changes of all calls of a session that were made, in order: those of turns that were read. */
export function sessionChanges(state) {
  return state.turns.flatMap((t) => t.items).filter((i) => i.type === "tool_call" && i.status === "completed").flatMap((i) => changes(i.content?.detail));
}
