import assert from "node:assert/strict";
import test from "node:test";
import { emptyState, fold } from "../assets/fold.js";
import { flat, picture, silence, sums, ticks } from "../assets/timing.js";
import { silenceWords } from "../assets/words.js";
import { Film } from "../e2e/fake.mjs";
import { cutShort, harbor, underWay } from "../e2e/films.mjs";

const film = (...scenes) => {
  const f = new Film(null, "s1");
  for (const scene of scenes) scene(f);
  return f.log.reduce(fold, emptyState());
};
const spans = (list, from) => list.map((s) => `${s.kind} ${((s.from - from) / 1000).toFixed(1)}-${((s.to - from) / 1000).toFixed(1)} ${s.end}`.trim());

test("a turn with a failed attempt, a retry, a silence and calls side by side", () => {
  const [t] = film(harbor).turns;
  const p = picture(t, 0);
  assert.deepEqual(spans(p.model, p.from).slice(0, 4), ["first 0.0-1.9 failed", "retry 1.9-5.9", "first 5.9-7.2", "stream 7.2-8.7 completed"]);
  assert.ok(p.model.some((s) => s.kind === "silent" && s.to - s.from === 7400));
  assert.equal(p.calls.length, 3, "three calls ran side by side");
  assert.deepEqual(p.calls.flat().map((s) => s.kind + s.end).sort(), ["ask", "runcompleted", "runcompleted", "runcompleted", "runfailed"]);
  const total = Object.values(p.sums).reduce((a, b) => a + b);
  assert.equal(total, t.endedAt - t.startedAt, "the sums are the whole");
  assert.equal(p.sums.retry, 4000);
  assert.equal(p.sums.ask, 5200);
  assert.equal(p.sums.silent, 7400);
});

test("an interrupt has a mark, and shows what it cut", () => {
  const t = film(harbor, cutShort).turns[1];
  const p = picture(t, 0);
  assert.deepEqual(p.marks.map((m) => m.kind), ["interrupted"]);
  assert.deepEqual(p.calls.flat().map((s) => s.end).sort(), ["aborted", "completed"]);
});

test("a turn whose host died ends at its last event, not at the recovery", () => {
  const f = new Film(null, "s1"), since = f.at = Date.parse("2026-03-04T20:00:00Z");
  f.turn("go");
  f.tell("attempt.started", { step: 1, attempt: 1, provider: "anthropic", model: "claude-x" }, { turn: "t000001", attempt: "a1" });
  f.tell("item.started", { type: "message" }, { turn: "t000001", attempt: "a1", item: "i1" });
  f.pass(4000).tell("item.delta", { stream: "text", text: "So" }, { turn: "t000001", attempt: "a1", item: "i1" });
  const stopped = new Date(f.at).toISOString(), cause = { outcome: "aborted", reason: "crashed" };
  f.pass(9 * 3600_000).tell("item.ended", { type: "message", status: "aborted", text: "So", cause }, { turn: "t000001", attempt: "a1", item: "i1" });
  f.tell("attempt.ended", { outcome: "aborted", cause }, { turn: "t000001", attempt: "a1" });
  f.tell("turn.aborted", { reason: "crashed", stopped_at: stopped }, { turn: "t000001" });
  const [t] = f.state.turns, p = picture(t, 0);
  assert.equal(p.to - since, 4000);
  assert.deepEqual([t.attempts[0].endedAt, t.items[0].endedAt], [p.to, p.to]);
  assert.deepEqual(spans(p.model, since), ["silent 0.0-4.0 aborted"]);
  assert.deepEqual([p.sums.silent, p.sums.stream], [4000, 0]);
});

test("a turn that runs ends now", () => {
  const s = film(underWay), t = s.turns[0];
  const p = picture(t, t.startedAt + 60_000);
  assert.equal(p.to - p.from, 60_000);
  assert.deepEqual(p.calls.flat().map((x) => [x.kind, x.end, x.to === p.to]), [["run", "", true], ["ask", "", true]]);
});

test("overlapping spans count once, by what matters more", () => {
  const rows = [[{ kind: "stream", from: 0, to: 10 }], [{ kind: "run", from: 5, to: 20 }], [{ kind: "ask", from: 8, to: 30 }]];
  const s = sums(0, 40, rows);
  assert.deepEqual([s.stream, s.run, s.ask, s.rest], [5, 15, 10, 10]);
  assert.deepEqual(flat(0, 40, rows).map((p) => `${p.kind} ${p.from}-${p.to}`), ["stream 0-5", "run 5-20", "ask 20-30", "rest 30-40"]);
});

test("ticks are round and few", () => {
  for (const length of [0, 1, 99, 1234, 40_000, 61_000, 3.6e6, 9e7, 1e10]) {
    for (const most of [2, 5, 12]) {
      const list = ticks(length, most);
      assert.ok(list.length <= most + 1 && list[0] === 0, `${length} in ${most}: ${list}`);
    }
  }
});

// The cases are those of TestSilence in package event.
test("a silence has its limit", () => {
  const turn = (a, limits) => ({
    cause: null, start: { model: "m", stream_limits: limits },
    attempts: [{ start: { model: "m" }, startedAt: 0, first: 0, last: 0, end: null, ...a }],
  });
  const limits = { first_ms: 600_000, stall_ms: 180_000, thinking_ms: 900_000 };
  const words = (a, now, l = limits) => { const s = silence(turn(a, l), now); return s ? silenceWords(s) : ""; };
  assert.equal(words({}, 9_999), "");
  assert.equal(words({}, 45_900), "no answer for 45 s, cut after 10 min");
  assert.equal(words({ first: 1000, last: 2000 }, 47_000), "model silent for 45 s, cut after 3 min");
  assert.equal(words({ first: 1000, last: 2000 }, 202_000), "model silent for 3:20, cut after 15 min");
  assert.equal(words({ start: { model: "fallback" } }, 45_000), "no answer for 45 s");
  assert.equal(words({}, 45_000, null), "no answer for 45 s");
  assert.equal(words({}, 45_000, { stall_ms: 1 }), "no answer for 45 s");
  assert.equal(words({ end: {} }, 45_000), "");
});
