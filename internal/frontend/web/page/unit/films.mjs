// Prints the films of the tests, each as one line: an array of events.

import { Film } from "../e2e/fake.mjs";
import { cutShort, harbor, underWay } from "../e2e/films.mjs";

function odds(f) {
  const steer = f.input("join", "steer");
  f.turn("A turn that is steered, fails, and has a child");
  f.attempt(1, 1);
  const lost = f.say("Half");
  f.attemptEnds({ outcome: "failed", error: { name: "ProviderError", message: "cut" }, retry_in_ms: 0, discarded: [lost] });
  f.attempt(1, 2, [steer]);
  const call = f.runs(f.ready("task", { prompt: "x" }), "x");
  f.tell("child.started", { child: "c000001", session: "s-child" }, f.envOf(call));
  f.attemptEnds({ stop_reason: "tool_use" });
  f.tell("child.ended", { child: "c000001", outcome: "completed" }, f.envOf(call));
  f.end(call, { output: "done" });
  const denied = f.attempt(2, 1) && f.ready("shell", { command: "rm" });
  f.answered(f.asks(denied, { tool: "shell" }), "denied", { message: "no" });
  f.end(denied, { status: "failed", output: "denied" });
  f.tell("interrupt.requested", { reason: "interrupted" }, { ...f.envOf(denied), by: "web" });
  f.attemptEnds({ outcome: "failed", error: { name: "TerminalRetryExhaustedError", message: "no more" } });
  f.turnEnds("turn.failed", { error: { name: "TerminalRetryExhaustedError", message: "no more" } });
  f.tell("weather.changed", { rain: true });
  f.tell("input.dropped", { input: f.input("never mind") }, { by: "web" });
  f.close("shutdown");
}

function families(f) {
  f.turn("Two children, one of them in the background, that ask");
  f.attempt(1, 1);
  const back = f.runs(f.ready("task", { prompt: "y", background: true }), "y");
  f.tell("child.started", { child: "c000001", session: "s-back", call: back });
  f.end(back, { output: "it works" });
  const call = f.runs(f.ready("task", { prompt: "x" }), "x");
  f.tell("child.started", { child: "c000002", session: "s-child", call }, f.envOf(call));
  f.attemptEnds({ stop_reason: "tool_use" });
  f.answered(f.asks(call, { tool: "shell", child: "c000002" }), "approved");
  f.tell("approval.requested", { approval: "p000091", tool: "shell", child: "c000001" });
  f.tell("child.ended", { child: "c000002", outcome: "completed" }, f.envOf(call));
  f.end(call, { output: "done" });
  f.attempt(2, 1);
  f.attemptEnds({ stop_reason: "end_turn" });
  f.turnEnds("turn.completed", {});
  f.tell("approval.ended", { approval: "p000091", verdict: "denied" }, { by: "web" });
  f.tell("approval.requested", { approval: "p000092", tool: "shell", child: "c000001" });
  f.tell("approval.ended", { approval: "p000092", verdict: "expired" });
  f.tell("child.ended", { child: "c000001", outcome: "completed" });
  f.close("shutdown");
}

for (const scenes of [[harbor, cutShort, underWay], [odds], [families]]) {
  const f = new Film(null, "s1");
  for (const scene of scenes) scene(f);
  process.stdout.write(`${JSON.stringify(f.log)}\n`);
}
