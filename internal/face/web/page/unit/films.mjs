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

for (const scenes of [[harbor, cutShort, underWay], [odds]]) {
  const f = new Film(null, "s1");
  for (const scene of scenes) scene(f);
  process.stdout.write(`${JSON.stringify(f.log)}\n`);
}
