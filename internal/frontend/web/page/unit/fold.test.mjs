// The fold against the schema's own samples, and what it must refuse. That it
// agrees with package event is held by a test in Go, for whole sessions.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { content, emptyState, fold, openApprovals, OrderError, running } from "../assets/fold.js";
import { follow } from "../assets/rows.js";

const repo = new URL("../../../../../", import.meta.url);
const lines = (text) => text.trim().split("\n").map((l) => JSON.parse(l));
const example = lines(/## Example[\s\S]*?```jsonl\n([\s\S]*?)```/.exec(readFileSync(new URL("docs/reference/events.md", repo), "utf8"))[1]);
const goldens = lines(readFileSync(new URL("event/testdata/kinds.jsonl", repo), "utf8"));

const play = (events) => events.reduce(fold, emptyState());
const renumber = (events) => events.map((e, n) => ({ ...e, seq: n + 1 }));

test("the example of docs/reference/events.md", () => {
  const s = play(example);
  assert.equal(s.seq, 24);
  assert.equal(s.open, false);
  assert.deepEqual(s.waiting.map((i) => [i.id, i.held, i.mode]), [["n000002", true, "queue"]]);
  const [t] = s.turns;
  assert.equal(t.cause.outcome, "aborted");
  assert.equal(t.cause.by, "signal:SIGINT");
  assert.deepEqual(t.items.map((i) => [i.type, i.status, i.effects]), [["message", "completed", ""], ["tool_call", "aborted", "unknown"]]);
  assert.equal(t.items[1].content.output, "--- FAIL: TestX\n");
  assert.equal(t.approvals[0].ended.verdict, "approved");
  assert.equal(s.jobs[0].ended.how, "killed");
});

test("what there is so far, at each event of the example", () => {
  const s = emptyState();
  const seen = [];
  for (const e of example) {
    fold(s, e);
    const t = running(s);
    seen.push([e.seq, t ? t.items.map((i) => content(i).text || content(i).output || "").join("|") : "-", openApprovals(s).length].join(" "));
  }
  assert.deepEqual(seen.slice(5, 15), [
    "6 I run  0", "7 I run the test. 0", "8 I run the test. 0", "9 I run the test.| 0", "10 I run the test.| 0",
    "11 I run the test.| 0", "12 I run the test.| 1", "13 I run the test.| 0", "14 I run the test.| 0", "15 I run the test.|--- FAIL: TestX\n 0",
  ]);
});

test("every kind of the schema is known", () => {
  const known = new Set();
  for (const e of goldens) {
    try { fold(emptyState(), { ...e, seq: 1 }); } catch (err) {
      assert.ok(err instanceof OrderError, `${e.kind}: ${err.stack}`);
      known.add(e.kind);
      continue;
    }
    if (["session.opened", "session.closed", "session.recovered"].includes(e.kind)) known.add(e.kind);
  }
  // An unknown kind passes; a known one, out of its place, does not.
  assert.deepEqual([...new Set(goldens.map((e) => e.kind))].filter((k) => !known.has(k)), []);
});

test("unknown kinds and fields are carried", () => {
  const s = play([example[0], { ...example[1], kind: "weather.changed", data: { rain: true } }, { ...example[1], seq: 3, mood: "fine", data: { ...example[1].data, colour: "red" } }]);
  assert.equal(s.seq, 3);
  assert.equal(s.waiting.length, 1);
});

test("refuses what cannot follow, and keeps the state", () => {
  const at = (n) => example.slice(0, n);
  const bad = [
    ["a gap", at(3), { ...example[4] }],
    ["an event again", at(3), example[2]],
    ["another session", at(2), { ...example[2], session: "s2" }],
    ["a newer schema", at(2), { ...example[2], v: 2 }],
    ["a second start", at(3), { ...example[2], seq: 4 }],
    ["an input that does not wait", at(2), { ...example[2], data: { inputs: ["n000009"] } }],
    ["a delta of an ended item", at(8), { ...example[6], seq: 9 }],
    ["a start before its approval", at(12), { ...example[13], seq: 13 }],
    ["an end while an item is open", at(15), { ...example[21], seq: 16 }],
    ["a second answer", at(13), { ...example[12], seq: 14 }],
    ["a close while a job runs", at(22), { ...example[23], seq: 23 }],
    ["anything after the close", at(24), { ...example[1], seq: 25, data: { input: "n000003", text: "x" } }],
  ];
  for (const [what, before, e] of bad) {
    const s = play(before), seq = s.seq;
    assert.throws(() => fold(s, e), OrderError, what);
    assert.equal(s.seq, seq, what);
  }
});

test("dropping any event of the example is noticed", () => {
  // Nothing depends on these.
  const free = new Set(["item.delta", "interrupt.requested", "input.held", "session.closed"]);
  for (let n = 0; n < example.length; n++) {
    if (free.has(example[n].kind)) continue;
    assert.throws(() => play(renumber(example.filter((_, k) => k !== n))), OrderError, `${example[n].kind}, event ${n + 1}`);
  }
});

test("rows of the transcript come in order, once", () => {
  const s = emptyState(), keys = [];
  for (const e of example) {
    fold(s, e);
    keys.push(...follow(s, e).rows.map((r) => r.key));
  }
  assert.deepEqual(keys, ["event 1", "turn t000001", "item i000001", "item i000002", "end t000001", "event 24"]);
});

test("silence of a model is kept as a gap", () => {
  const t0 = Date.parse("2026-03-04T05:00:00Z");
  const at = (ms) => new Date(t0 + ms).toISOString();
  const e = (seq, ms, kind, data, env = {}) => ({ v: 1, session: "s1", seq, at: at(ms), kind, data, ...env });
  const turn = "t000001", attempt = "a000001", item = "i000001";
  const s = play([
    e(1, 0, "session.opened", {}), e(2, 0, "input.accepted", { input: "n1", text: "x" }), e(3, 0, "turn.started", { inputs: ["n1"] }, { turn }),
    e(4, 0, "attempt.started", { step: 1, n: 1 }, { turn, attempt }), e(5, 1000, "item.started", { type: "message" }, { turn, attempt, item }),
    e(6, 1100, "item.delta", { stream: "text", text: "a" }, { turn, attempt, item }), e(7, 9100, "item.delta", { stream: "text", text: "b" }, { turn, attempt, item }),
  ]);
  const a = s.turns[0].attempts[0];
  assert.deepEqual([a.first - t0, a.last - t0, a.gaps.map((g) => g.map((ms) => ms - t0))], [1000, 9100, [[1100, 9100]]]);
});
