// Films of every kind of item, in every state, by every tool, and of items whose
// content this page cannot know.

import { detail } from "./films.mjs";

/** The tools of settle with arguments of theirs, one of a server, and one that nobody knows. */
export const tools = {
  shell: { command: "make test", workdir: "/home/ada" }, job: { job: "j000001", action: "read" }, read: { path: "lock.go", offset: 3 },
  write: { path: "new.go", content: "package harbor\n" }, edit: { path: "lock.go", old: "a", new: "b" }, apply_patch: { patch: "*** Begin Patch\n*** End Patch" },
  grep: { pattern: "Acquire" }, glob: { pattern: "**/*.go" }, list: { path: "." }, web_fetch: { url: "https://go.dev/" }, web_search: { query: "berth" },
  task: { prompt: "look" }, skill: { name: "release" }, mcp__berths__find: { ship: { name: "Ada" }, list: [1, null, true] }, unheard_of: {},
  plan: { explanation: "three steps", plan: [{ step: "Look", status: "completed" }, { step: "Change", status: "in_progress" }, { step: "Tell", status: "pending" }] },
};

const cause = (reason, by = "web") => ({ outcome: "aborted", reason, by });

/** Arguments that are not what a tool expects. */
const odd = ["", "{", "null", "7", "[]", "\"text\"", "{\"plan\":null}", "{\"plan\":[null]}", "{\"plan\":[{\"step\":{},\"status\":[]}]}", "{\"plan\":{}}", "{\"command\":7}"];

/** Details that are not what the page expects. */
const details = [detail, null, 7, "text", [1], {}, { diff: "@@ x" }, { files: null }, { files: [null, 7, {}] }, { files: [{ path: 7, diff: 7 }] }, { files: [{ path: "a", from: "b", kind: "move", diff: detail.files[0].diff, cut: true }] }];

/** A turn with every item that a model can make. */
function items(f) {
  f.turn("Every item");
  f.attempt(1, 1);
  for (const type of ["message", "reasoning", "note", "summary"]) {
    f.say("Some *text*, `code`\n\n- [x] done\n- [ ] not done\n\n~~gone~~\n\n```diff\n-a\n+b\n```\n", type);
    f.end(f.start(type));
    for (const end of [{ status: "failed" }, { status: "failed", cause: { outcome: "failed", error: { name: "ProviderError", message: "cut" } } }, { status: "aborted", cause: cause("interrupted") }]) {
      const i = f.start(type);
      f.delta(i, "Half a sentence, **and");
      f.end(i, end);
    }
  }
  f.attemptEnds({ stop_reason: "tool_use" });
}

/** A turn in which every tool is called, and ends in every way. */
function calls(f) {
  f.turn("Every call");
  let step = 0;
  for (const [name, args] of Object.entries(tools)) {
    f.attempt(++step, 1);
    const begin = () => f.runs(f.ready(name, args), `${name} does it`);
    f.end(begin(), { output: "well\n", detail: name === "plan" ? undefined : detail });
    f.end(begin(), { status: "failed", exit_code: 2, output: "\u001b[31mbad\u001b[0m\n" });
    f.end(begin(), { status: "failed", cause: { outcome: "failed", error: { name: "ToolError", message: "it broke" } } });
    for (const reason of ["interrupted", "shutdown", "crashed", "parent", "limit"]) f.end(begin(), { status: "aborted", effects: reason === "crashed" ? "unknown" : "partial", cause: cause(reason) });
    f.end(f.ready(name, args), { status: "aborted", effects: "none", cause: cause("replaced") });
    const denied = f.ready(name, args);
    f.answered(f.asks(denied, { tool: name, title: `${name} it`, why: "the policy is ask" }), "denied", { message: "no" });
    f.end(denied, { status: "failed", output: "denied" });
    const unfinished = f.start("tool_call", { name, call_id: "c" });
    f.delta(unfinished, JSON.stringify(args).slice(0, 9), "arguments");
    f.end(unfinished, { status: "aborted", effects: "none", cause: cause("interrupted") });
    f.attemptEnds({ stop_reason: "tool_use" });
  }
}

/** Calls with arguments and details of other shapes. */
function oddities(f) {
  f.turn("Odd calls");
  let step = 0;
  for (const args of odd) {
    f.attempt(++step, 1);
    for (const name of ["plan", "shell", "edit"]) {
      const i = f.start("tool_call", { name, call_id: "c" });
      f.tell("call.ready", { name, call_id: "c", arguments: args }, f.envOf(i));
      f.runs(i);
      f.end(i, { output: "x" });
    }
    f.attemptEnds({ stop_reason: "tool_use" });
  }
  for (const d of details) {
    f.attempt(++step, 1);
    f.end(f.runs(f.ready("edit", {})), { detail: d });
    f.attemptEnds({ stop_reason: "tool_use" });
  }
  f.attempt(++step, 1);
  f.end(f.runs(f.ready("shell", { command: "x" })), { jobs: ["j000001"], survivors: [{ pid: 7 }, { pid: 8, why: "setuid" }], output_file: "/tmp/out", output_bytes: 123456, output: "tail" });
  f.attemptEnds();
}

/** Turns that end in every way. */
export function every(f) {
  f.at = Date.now() - 3600_000;
  for (const scene of [items, calls, oddities]) { scene(f); f.completes({ calls: 3 }); }
  f.turn("It fails");
  f.attempt(1, 1);
  f.attemptEnds({ outcome: "failed", error: { name: "ProviderError", kind: "overloaded", status: 529, message: "overloaded", body: "{}", url: "https://x/" }, retry_in_ms: 5, discarded: [f.say("half")] });
  f.attempt(1, 2);
  f.attemptEnds({ outcome: "failed", error: { name: "ProviderError", message: "overloaded" } });
  f.turnEnds("turn.failed", { error: { name: "ProviderError", kind: "overloaded", message: "overloaded", body: "{}" } });
  for (const [reason, more] of [["replaced"], ["shutdown"], ["crashed"], ["parent"], ["limit", { limit: "steps" }]]) {
    f.turn(`It ends: ${reason}`);
    f.turnEnds("turn.aborted", { reason, ...more }, "host");
  }
  f.turn("It is interrupted");
  f.attempt(1, 1);
  f.runs(f.ready("shell", { command: "sleep 9" }), "sleep 9");
  f.interrupted();
  f.turn("Its history changes");
  for (const change of ["window", "shortened", "left_out", "restored", "basis", "compacted", "unheard_of"]) f.tell("history.changed", { change, why: change === "basis" ? undefined : `why ${change}` }, f.env());
  f.completes();
  f.tell("weather.changed", { rain: true });
  f.close("shutdown");
}

/** A turn with items that no version of settle writes today: the page cannot show them. */
export function foreign(f) {
  f.at = Date.now() - 3600_000;
  f.turn("Items of another version");
  f.attempt(1, 1);
  f.say("Before.");
  const message = f.start("message");
  f.end(message, { text: { parts: ["a message of another shape"] } });
  const call = f.runs(f.ready("shell", { command: "x" }), "x");
  f.end(call, { output: { rows: ["an output of another shape"] } });
  const note = f.start("hologram");
  f.end(note, { text: 7 });
  f.say("After.");
  f.attemptEnds();
  f.completes();
  return { message, call, note };
}
