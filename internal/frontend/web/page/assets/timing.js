// Where the time of a turn went: spans of what it did and waited for, computed
// from the fold alone. timeline.js draws them.

/**
 * The picture of a turn until `now` (which counts only while it runs).
 *
 * {from, to, model: [span], calls: [[span]], marks: [{at, kind, by}], sums}
 *
 * A span is {kind, from, to, end, of, note}: kind is first (a request was sent,
 * nothing came yet), stream, silent, retry, ask, run or child; end is how it
 * ended ("" while it runs, or where the next span of the same thing follows);
 * `of` is the id of the attempt or item.
 */
export function picture(turn, now) {
  const from = turn.startedAt;
  const to = turn.cause ? turn.endedAt : Math.max(now, from);
  const model = modelSpans(turn, to);
  const calls = lanes(turn.items.filter((i) => i.readyAt).map((i) => callSpans(turn, i, to)));
  const marks = [];
  if (turn.interrupt) marks.push({ at: turn.interrupt.at, kind: turn.interrupt.reason, by: turn.interrupt.by });
  for (const a of turn.attempts) if (a.inputs.length) marks.push({ at: a.startedAt, kind: "steered", by: a.inputs[0].by });
  return { from, to, model, calls, marks, sums: sums(from, to, [model, ...calls]) };
}

/** Silence that people should know of while it lasts, in milliseconds: models think for seconds. */
const LONG = 10_000;

/**
 * How long the running attempt of a turn has brought no output: {for, limit, answered}, where the limit is when
 * settle ends it (0 if that is not known), or null if that is short. As event.Turn.Silence in Go.
 */
export function silence(turn, now) {
  const a = turn.attempts.at(-1);
  if (!a || a.end || turn.cause) return null;
  const long = now - (a.first ? a.last : a.startedAt);
  if (long < LONG) return null;
  const known = turn.start.model === a.start.model && turn.start.provider === a.start.provider ? turn.start.stream_limits : null;
  const usual = (a.first ? known?.stall_ms : known?.first_ms) ?? 0;
  return { for: long, limit: usual && long > usual ? known.thinking_ms ?? 0 : usual, answered: !!a.first };
}

function modelSpans(turn, to) {
  const spans = [];
  turn.attempts.forEach((a, n) => {
    const of = a.id, end = a.end ? a.end.outcome : "", until = a.end ? a.endedAt : to;
    const push = (kind, from, upto, how = "") => { if (upto > from || how) spans.push({ kind, from, to: Math.max(upto, from), end: how, of }); };
    if (!a.first) push("first", a.startedAt, until, end);
    else {
      push("first", a.startedAt, a.first);
      let at = a.first;
      const gaps = [...a.gaps];
      if (!a.end && until - a.last > 2000) gaps.push([a.last, until]);
      for (const [begin, over] of gaps) {
        push("stream", at, begin);
        push("silent", begin, over, over >= until ? end : "");
        at = over;
      }
      if (at < until || spans.at(-1)?.of !== of || spans.at(-1).end !== end) push("stream", at, until, end);
    }
    if (a.end?.retry_in_ms !== undefined) {
      const next = turn.attempts[n + 1];
      push("retry", a.endedAt, next ? next.startedAt : to, turn.cause && !next ? turn.cause.outcome : "");
    }
  });
  return spans;
}

function callSpans(turn, i, to) {
  const spans = [], until = i.status === "open" ? to : i.endedAt;
  const how = i.status === "open" ? "" : i.status;
  for (const a of turn.approvals) {
    if (a.call === i.id) spans.push({ kind: "ask", from: a.at, to: a.ended ? a.endedAt : until, end: "", of: i.id });
  }
  if (i.started) spans.push({ kind: "run", from: i.startedAt, to: until, end: how, of: i.id });
  else if (spans.length) spans.at(-1).end = how;
  else spans.push({ kind: "ready", from: i.readyAt, to: until, end: how, of: i.id });
  return spans;
}

/** Puts calls that overlap side by side: each list of spans goes to the first lane that is free. */
function lanes(calls) {
  const out = [], free = [];
  for (const spans of calls.sort((a, b) => a[0].from - b[0].from)) {
    const from = spans[0].from, to = spans.at(-1).to;
    let lane = free.findIndex((at) => at <= from);
    if (lane < 0) lane = out.push([]) - 1;
    for (const s of spans) out[lane].push(s);
    free[lane] = Math.max(to, from);
  }
  return out;
}

/** What counts where several things happen at once: the first of these. */
const ORDER = ["run", "ask", "stream", "first", "silent", "retry", "ready"];

/** Milliseconds by kind, and `rest`; together the length of the turn. */
export function sums(from, to, rows) {
  const out = Object.fromEntries([...ORDER, "rest"].map((k) => [k, 0]));
  for (const part of flat(from, to, rows)) out[part.kind] += part.to - part.from;
  return out;
}

/** The rows as one: parts {kind, from, to} from `from` until `to`, in order. */
export function flat(from, to, rows) {
  const edges = [];
  for (const row of rows) {
    for (const s of row) {
      const rank = ORDER.indexOf(s.kind);
      if (s.to > s.from) edges.push([s.from, rank, 1], [s.to, rank, -1]);
    }
  }
  edges.sort((a, b) => a[0] - b[0]);
  const open = ORDER.map(() => 0), out = [];
  let at = from;
  const upto = (next) => {
    if (next <= at) return;
    const rank = open.findIndex((n) => n > 0);
    const kind = rank < 0 ? "rest" : ORDER[rank];
    if (out.at(-1)?.kind === kind) out.at(-1).to = next; else out.push({ kind, from: at, to: next });
    at = next;
  };
  for (const [when, rank, step] of edges) {
    upto(Math.min(Math.max(when, from), to));
    open[rank] += step;
  }
  upto(to);
  return out;
}

/** Round steps of an axis of `length` milliseconds with at most `most` of them. */
export function ticks(length, most) {
  const steps = [100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5];
  const step = steps.find((s) => length / s <= most) ?? Math.ceil(length / most / 864e5) * 864e5;
  const out = [];
  for (let at = 0; at <= length; at += step) out.push(at);
  return out;
}
