// The turn as a picture: one row for the model's attempts, rows for its calls
// side by side, and an axis. Bars say by shape how they ended, not by colour
// alone: an aborted one is torn, a failed one has a cross.

import { h, svg, text, toggle } from "./dom.js";
import { flat, picture, ticks } from "./timing.js";
import { answers } from "./terms.js";
import { answeredWords, causeWords, count, denied, duration, errorWords, short, tick } from "./words.js";
import { named } from "./visible.js";

const ROW = 18, GAP = 5, TOP = 2, AXIS = 16, MOST_LANES = 12;
/** Room at the end, so that a mark there is not cut off. */
const END = 8;

let figures = 0; // ids of patterns are unique in the document

/**
 * A view of a turn's picture: {el, update(turn, now), stop()}. onPick(id) is
 * called with the id of the attempt or item that a person chose.
 */
export function timelineView(onPick) {
  const hatch = `hatch-${++figures}`;
  const drawing = svg("svg", { class: "drawing", "aria-hidden": "true", height: 40 });
  const note = h("p", { class: "picture-note", "aria-live": "off" });
  const box = h("div", {
    class: "picture", tabindex: "0", role: "group", "aria-roledescription": "timeline of a turn",
    on: { keydown, pointermove, pointerleave: () => choose(-1), click, blur: () => choose(-1), focus: () => describe() },
  }, drawing);
  const el = h("div", { class: "picture-box" }, box, note);
  let width = 0, turn = null, now = 0, pic = null, spans = [], chosen = -1, bars = [];
  const seen = new ResizeObserver((entries) => {
    const w = Math.floor(entries[0].contentRect.width);
    if (w && w !== width) { width = w; if (turn) draw(); }
  });
  seen.observe(box);

  function update(nextTurn, nextNow) {
    turn = nextTurn;
    now = nextNow;
    if (width) draw();
    else describeAll();
  }

  function describeAll() {
    pic = picture(turn, now);
    spans = [...pic.model, ...pic.calls.flat()].filter((s) => s.kind !== "ready" || s.end);
    spans.sort((a, b) => a.from - b.from);
    box.setAttribute("aria-label", `Where the time went: ${sumWords(pic)}. Use the arrow keys to move through the parts.`);
  }

  function draw() {
    describeAll();
    const lanes = longest(pic.calls, MOST_LANES);
    const height = TOP + (1 + lanes.length) * (ROW + GAP) + AXIS;
    const length = Math.max(pic.to - pic.from, 100);
    const x = (at) => (Math.min(Math.max(at, pic.from), pic.to) - pic.from) / length * (width - END);
    bars = [];
    const parts = [patterns(hatch)];
    parts.push(axis(length, x, pic.from, height));
    parts.push(row(pic.model, 0, x));
    lanes.forEach((lane, n) => parts.push(row(lane, n + 1, x)));
    for (const m of pic.marks) parts.push(markLine(m, x, height));
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", height);
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.replaceChildren(...parts);
    if (chosen >= 0) choose(Math.min(chosen, spans.length - 1));
  }

  /** Bars narrower than a pixel that touch are drawn as one. */
  function row(list, n, x) {
    const g = svg("g", null);
    const y = TOP + n * (ROW + GAP);
    let many = null;
    const finish = () => {
      if (many) g.append(svg("rect", { class: `bar ${many.kind} many`, x: many.from, y: y + 3, width: Math.max(many.to - many.from, 1), height: ROW - 6 }));
      many = null;
    };
    for (const s of list) {
      if (s.kind === "ready" && !s.end) continue;
      // What failed or was cut is seen however short it was.
      const left = x(s.from), right = Math.max(x(s.to), left + (s.end && s.end !== "completed" ? 8 : 1.5));
      bars.push({ span: s, left, right, y });
      if (right - left <= 2 && (!s.end || s.end === "completed")) {
        if (many && left <= many.to + 1) { many.to = right; continue; }
        finish();
        many = { kind: s.kind, from: left, to: right };
        continue;
      }
      finish();
      g.append(bar(s, left, right, y));
    }
    finish();
    return g;
  }

  function bar(s, left, right, y) {
    const thin = s.kind === "retry" || s.kind === "first" || s.kind === "silent" || s.kind === "ready";
    const torn = s.end === "aborted";
    const low = thin && s.end !== "failed";
    const shape = s.kind === "retry" ? `M${left + 2} ${y + ROW / 2}H${Math.max(right - 2, left + 3)}` : outline(left, right, y + (low ? 5 : 2), low ? ROW - 10 : ROW - 4, torn);
    const g = svg("g", { class: `span ${s.kind} ${s.end || (s.to >= pic.to && !turn.cause ? "open" : "part")}` });
    g.append(svg("path", { class: "bar", d: shape, fill: s.kind === "ask" || s.kind === "silent" ? `url(#${hatch})` : undefined }));
    const room = right - left - (s.end === "failed" ? 20 : 10);
    const words = label(s, turn) + (torn ? " \u00b7 cut" : "");
    if (torn && right - left >= 8) g.append(svg("path", { class: "tear", d: tear(right, y + (low ? 5 : 2), low ? ROW - 10 : ROW - 4) }));
    if (words && !thin && room >= words.length * 6.4) g.append(svg("text", { class: "label", x: left + 6, y: y + 13 }, words));
    else if (words && !thin && room > 40) g.append(svg("text", { class: "label", x: left + 6, y: y + 13 }, `${words.slice(0, Math.floor(room / 6.4) - 1)}\u2026`));
    if (thin && s.kind !== "ready" && right - left > 90) {
      const said = `${{ first: "waiting", silent: "silent", retry: "retry after" }[s.kind]} ${duration(s.to - s.from)}`;
      const half = said.length * 3 + 4;
      g.append(svg("rect", { class: "behind", x: (left + right) / 2 - half, y: y + 2, width: 2 * half, height: ROW - 4 }),
        svg("text", { class: "label over", x: (left + right) / 2, y: y + 13, "text-anchor": "middle" }, said));
    }
    if (s.end === "failed" && s.kind !== "retry") {
      const cx = Math.max(left + 4, right - 8), cy = y + ROW / 2;
      g.append(svg("path", { class: "cross", d: `M${cx - 2.5} ${cy - 2.5}l5 5m0 -5l-5 5` }));
    }
    return g;
  }

  function axis(length, x, from, height) {
    const g = svg("g", { class: "axis" });
    const y = height - AXIS + 3;
    for (const at of ticks(length, Math.max(2, Math.floor(width / 80)))) {
      const px = Math.round(x(from + at)) + 0.5;
      g.append(svg("path", { d: `M${px} 0V${y}` }));
      const anchor = at === 0 ? "start" : px > width - 16 ? "end" : "middle";
      g.append(svg("text", { x: at === 0 ? 0 : px, y: height - 2, "text-anchor": anchor }, at === 0 ? "0" : tick(at)));
    }
    return g;
  }

  function markLine(m, x, height) {
    const px = Math.min(Math.max(Math.round(x(m.at)) + 0.5, 1.5), width - 1.5);
    const g = svg("g", { class: `mark ${m.kind}` });
    g.append(svg("path", { d: `M${px} 0V${height - AXIS + 3}` }));
    g.append(svg("path", { class: "head", d: `M${px - 4.5} 0h9l-4.5 6z` }));
    return g;
  }

  function choose(n) {
    chosen = n;
    drawing.querySelector(".focus")?.remove();
    const s = spans[n];
    const found = s && bars.find((b) => b.span === s);
    if (found) drawing.append(svg("rect", { class: "focus", x: Math.max(0.5, found.left - 1.5), y: found.y + 0.5, width: found.right - found.left + 3, height: ROW - 1, rx: 3 }));
    describe();
  }

  function describe() {
    const s = spans[chosen];
    toggle(note, "chosen", !!s);
    note.setAttribute("aria-live", s ? "polite" : "off");
    text(note, s ? `${spanWords(s, turn)} \u00b7 from ${duration(s.from - pic.from)}` : pic ? sumWords(pic) + (pic.calls.length > MOST_LANES ? ` \u00b7 ${count(pic.calls.length - MOST_LANES, "shorter row")} not drawn` : "") : "");
  }

  function keydown(e) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (step) choose((chosen + step + spans.length) % Math.max(1, spans.length));
    else if (e.key === "Home") choose(0);
    else if (e.key === "End") choose(spans.length - 1);
    else if (e.key === "Enter" && spans[chosen]) onPick(spans[chosen].of);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  function under(e) {
    const r = drawing.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top;
    return bars.find((b) => py >= b.y && py < b.y + ROW + GAP && px >= b.left - 2 && px <= b.right + 2);
  }

  function pointermove(e) {
    const found = under(e);
    const n = found ? spans.indexOf(found.span) : -1;
    if (n !== chosen) choose(n);
  }

  function click(e) {
    const found = under(e);
    if (found) onPick(found.span.of);
  }

  return { el, update: (t, at) => { update(t, at); if (chosen < 0) describe(); }, stop: () => seen.disconnect() };
}

/** A view of a turn as one thin line: {el, update(turn, now)}. */
export function stripView() {
  const el = svg("svg", { class: "strip", "aria-hidden": "true", viewBox: "0 0 1000 6", preserveAspectRatio: "none" });
  return {
    el,
    update(turn, now) {
      const pic = picture(turn, now), length = Math.max(pic.to - pic.from, 1);
      const x = (at) => (at - pic.from) / length * 1000;
      const parts = flat(pic.from, pic.to, [pic.model, ...pic.calls]);
      const cut = [...pic.model, ...pic.calls.flat()].filter((s) => s.end === "failed" || s.end === "aborted");
      el.replaceChildren(
        ...parts.map((s) => svg("rect", { class: s.kind, x: x(s.from), y: 0, width: Math.max(x(s.to) - x(s.from), 1.5), height: 6 })),
        ...cut.map((s) => svg("rect", { class: "bad", x: Math.max(0, x(s.to) - 6), y: 0, width: 6, height: 6 })));
    },
  };
}

/** The rows that took longest, in their order: they are what a turn waited for. */
function longest(rows, most) {
  if (rows.length <= most) return rows;
  const took = (row) => row.reduce((ms, s) => ms + s.to - s.from, 0);
  const chosen = new Set([...rows].sort((a, b) => took(b) - took(a)).slice(0, most));
  return rows.filter((row) => chosen.has(row));
}

/** A bar's outline; a torn one has a ragged right edge. */
function outline(left, right, y, height, torn) {
  const w = Math.max(right - left, 1.5), r = Math.min(3, w / 2, height / 2);
  if (!torn || w < 8) return `M${left + r} ${y}h${w - 2 * r}q${r} 0 ${r} ${r}v${height - 2 * r}q0 ${r} ${-r} ${r}h${-(w - 2 * r)}q${-r} 0 ${-r} ${-r}v${-(height - 2 * r)}q0 ${-r} ${r} ${-r}z`;
  return `${tear(right, y, height)}H${left + r}q${-r} 0 ${-r} ${-r}v${-(height - 2 * r)}q0 ${-r} ${r} ${-r}H${right}z`;
}

/** A ragged edge. */
function tear(right, y, height) {
  const q = height / 4;
  return `M${right} ${y}l-5 ${q}l5 ${q}l-5 ${q}l5 ${q}`;
}

function patterns(id) {
  return svg("defs", null,
    svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "hatch-ground", width: 6, height: 6 }),
      svg("rect", { class: "hatch-line", width: 2.5, height: 6 })));
}

/** What stands in a bar. */
function label(s, turn) {
  if (s.kind === "stream") return "model";
  const i = turn.itemById.get(s.of);
  if (!i) return "";
  return s.kind === "ask" ? `${named(i.content.name ?? "tool")} ${denied(turn.approvals, i) ? answers.denied[1] : "asks"}` : named(i.content.name ?? "tool");
}

/** How the question of a span was answered, such as ", allowed once". */
function answered(s, turn) {
  const a = turn.approvals.find((one) => one.call === s.of && one.at === s.from);
  return a?.ended ? `, ${answeredWords(a)}` : "";
}

/** One span in words. */
function spanWords(s, turn) {
  const long = duration(s.to - s.from);
  const i = turn.itemById.get(s.of), a = turn.attempts.find((one) => one.id === s.of);
  if (s.kind === "retry") {
    return `waited ${long} to retry after: ${errorWords(a?.end?.error) || "a failed attempt"}`;
  }
  if (a) {
    const what = { first: "model, before its first output", stream: "model", silent: "model, silent" }[s.kind];
    const how = { failed: `, failed: ${errorWords(a.end?.error)}`, aborted: `, interrupted: ${causeWords({ reason: a.end?.reason })}`, completed: "", "": "" }[s.end] ?? "";
    const n = a.start.n > 1 ? ` (attempt ${a.start.n})` : "";
    return `${what}${n} ${long}${how}`;
  }
  if (!i) return long;
  const name = named(i.title || i.content.name || "call").slice(0, 80);
  if (s.kind === "ask") return `${name}: waited ${long} for an answer${answered(s, turn)}`;
  const how = { completed: "completed", failed: "failed", aborted: `cut: ${causeWords(i.cause)}`, "": "runs" }[s.end];
  return `${name}: ${long}, ${how}`;
}

/** The whole turn in words. */
export function sumWords(pic) {
  const s = pic.sums, parts = [];
  const say = (ms, words) => { if (ms >= 50 && ms >= (pic.to - pic.from) / 200) parts.push(`${words} ${duration(ms)}`); };
  say(s.stream + s.first, "model");
  say(s.silent, "silent");
  say(s.run, "tools");
  say(s.ask, "waiting for an answer");
  say(s.retry, "waiting to retry");
  say(s.rest + s.ready, "other");
  return parts.join(" \u00b7 ") || duration(pic.to - pic.from);
}

/** What a turn took, such as "3 requests · 2 calls · 12.3k tokens in, 640 out". */
export function summaryWords(turn) {
  const s = turn.summary;
  if (!s) return "";
  const parts = [count(s.attempts, "request"), count(s.calls, "call")];
  if (s.denied) parts.push(`${s.denied} denied`);
  if (s.usage.input_tokens || s.usage.output_tokens) parts.push(`${short(s.usage.input_tokens ?? 0)} tokens in, ${short(s.usage.output_tokens ?? 0)} out`);
  if (s.cost) parts.push(costWords(s));
  return parts.join(" \u00b7 ");
}

/** What turns took together, such as "12.9k tokens · $0.12"; nothing if not all of them are known. */
export function totalWords(state) {
  if (state.earlier) return "";
  const sum = { tokens: 0, cost: 0, unpriced: 0 };
  for (const t of state.turns) {
    if (!t.summary) continue;
    sum.tokens += (t.summary.usage.input_tokens ?? 0) + (t.summary.usage.output_tokens ?? 0);
    sum.cost += t.summary.cost;
    sum.unpriced += t.summary.unpriced;
  }
  return [sum.tokens && `${short(sum.tokens)} tokens`, sum.cost && costWords(sum)].filter(Boolean).join(" \u00b7 ");
}

/** Dollars; more than that, if the price of some requests is not known. */
function costWords(s) {
  return `${s.unpriced ? "more than " : ""}$${s.cost < 0.1 ? s.cost.toFixed(4) : s.cost.toFixed(2)}`;
}
