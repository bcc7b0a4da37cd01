// Films that several tests and the stills show.

export const diff = `--- a/internal/harbor/lock.go
+++ b/internal/harbor/lock.go
@@ -18,9 +18,12 @@ func (h *Harbor) Acquire(ctx context.Context) error {
 	h.mu.Lock()
 	defer h.mu.Unlock()
 
-	for h.held {
-		h.cond.Wait()
-	}
+	for h.held {
+		if err := h.wait(ctx); err != nil {
+			return fmt.Errorf("cannot acquire the berth: %w", err)
+		}
+	}
 	h.held = true
 	return nil
 }
`;

export const detail = { files: [{ path: "internal/harbor/lock.go", kind: "update", diff, added: 5, removed: 3 }] };

const answer = `## What was wrong

\`Acquire\` waited on a condition that nobody signalled after a **cancelled context**, so the second caller hung for ever. The fix waits on both:

\`\`\`go
select {
case <-h.free:
	return nil
case <-ctx.Done():
	return context.Cause(ctx)
}
\`\`\`

| test | before | after |
| --- | ---: | ---: |
| \`TestAcquire\` | 40.0 s | 0.2 s |
| \`TestCancel\` | never | 0.1 s |

1. All callers now see the *cause*, not \`context.Canceled\`.
2. The [memory model](https://go.dev/ref/mem) allows it, since the channel orders both.
   - nothing else takes the lock
   - \`-race\` is clean

> One thing is left: \`Release\` still panics when it is called twice.`;

/** A turn with a failed attempt, a retry, a silence, calls side by side and an edit. */
export function harbor(f) {
  f.at = Date.now() - 9 * 60_000;
  f.turn("TestAcquire hangs in CI. Find out why, and fix it.");
  f.pass(40);
  f.attempt(1, 1);
  f.pass(1900);
  f.attemptEnds({ outcome: "failed", stop_reason: undefined, error: { name: "ProviderError", kind: "overloaded", status: 529, message: "529 overloaded: try again later" }, retry_in_ms: 4000 });
  f.pass(4000);
  f.attempt(1, 2);
  f.pass(1300);
  f.say("The test hangs, so somebody waits for something that does not come. I look at the lock and run the test under a deadline, side by side.", "reasoning", 180);
  f.say("I read the lock and run the test with a deadline.", "message", 120);
  const read = f.ready("read", { path: "internal/harbor/lock.go" });
  f.runs(read, "internal/harbor/lock.go");
  const run = f.ready("shell", { command: "go test -run TestAcquire -timeout 20s ./internal/harbor" });
  f.runs(run, "go test -run TestAcquire -timeout 20s ./internal/harbor");
  const grep = f.ready("grep", { pattern: "Acquire\\(" });
  f.runs(grep, "Acquire\\(");
  f.attemptEnds({ stop_reason: "tool_use" });
  f.pass(300);
  f.end(read, { output: "package harbor\n\nimport (\n\t\"context\"\n\t\"sync\"\n)\n" });
  f.pass(250);
  f.end(grep, { output: "lock.go:17: func (h *Harbor) Acquire(ctx context.Context) error {\nlock_test.go:31: h.Acquire(ctx)\n" });
  f.pass(14_000);
  f.delta(run, "=== RUN   TestAcquire\npanic: test timed out after 20s\n\tgoroutine 34 [sync.Cond.Wait]:\n\tharbor.(*Harbor).Acquire\nFAIL\tharbor\t20.014s\n", "output");
  f.end(run, { status: "failed", exit_code: 1 });
  f.attempt(2, 1);
  f.pass(900);
  const m = f.start("message");
  f.delta(m, "It waits on a condition that a cancelled context never signals. ");
  f.pass(7400);
  f.delta(m, "I change the wait.");
  f.end(m);
  const edit = f.ready("edit", { path: "internal/harbor/lock.go" });
  const p = f.asks(edit, { tool: "edit", title: "internal/harbor/lock.go", why: "the policy is ask", detail });
  f.attemptEnds({ stop_reason: "tool_use" });
  f.pass(5200);
  f.answered(p, "approved");
  f.runs(edit, "internal/harbor/lock.go");
  f.pass(60);
  f.end(edit, { output: "edited internal/harbor/lock.go in 1 place (+5 -3)", detail });
  f.attempt(3, 1);
  f.pass(800);
  f.say(answer, "message", 30);
  f.attemptEnds();
  f.completes();
}

/** A turn that is interrupted in the middle of two calls, with an input that is held then. */
export function cutShort(f) {
  f.pass(60_000);
  f.turn("Now run everything under the race detector, and the linter beside it.");
  f.attempt(1, 1);
  f.pass(1100);
  f.say("Both at once.", "message", 90);
  const race = f.runs(f.ready("shell", { command: "go test -race ./..." }), "go test -race ./...");
  const lint = f.runs(f.ready("shell", { command: "golangci-lint run" }), "golangci-lint run");
  f.attemptEnds({ stop_reason: "tool_use" });
  f.pass(3000);
  f.end(lint, { output: "0 issues.\n" });
  f.delta(race, "ok  \tharbor/internal/berth\t1.204s\nok  \tharbor/internal/crane\t3.881s\n", "output");
  f.pass(6000);
  f.input("And update the changelog.");
  f.pass(2000);
  f.interrupted();
}

/** A turn that runs: one call runs, one asks. */
export function underWay(f) {
  f.at = Date.now() - 9300;
  f.turn("Take the race detector again, and write the release note.");
  f.attempt(1, 1);
  f.pass(1400);
  f.say("I run the tests and write the note.", "message", 100);
  const run = f.runs(f.ready("shell", { command: "go test -race ./..." }), "go test -race ./...");
  const edit = f.ready("edit", { path: "internal/harbor/lock.go" });
  f.asks(edit, { tool: "edit", title: "internal/harbor/lock.go", why: "the policy is ask", detail });
  f.attemptEnds({ stop_reason: "tool_use" });
  f.tell("job.started", { job: f.fresh("j"), pid: 4250, command: "python3 -m http.server 8000" });
  f.pass(2000);
  f.delta(run, "ok  \tharbor/internal/berth\t1.204s\n", "output");
  f.input("Then tag it as v0.4.0.");
  f.at = null;
  return { run, edit };
}
