package event

import (
	"encoding/json"
	"time"
)

var sampleTime = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

func sampleCause() *Cause {
	return &Cause{
		Outcome: Aborted, Reason: LimitReached, Limit: LimitTime, By: "user", Message: "after 30 min",
		Failure: sampleFailure(),
	}
}

func sampleFailure() *Failure {
	return &Failure{
		Name: NameRetryExhausted, Kind: "overloaded", Status: 529, URL: "https://api.example.com/v1/messages",
		Body: `{"type":"error"}`, Message: "overloaded", Attempt: 6, RetryLimit: 5, Stack: "goroutine 1 [running]:",
	}
}

func sampleSummary() Summary {
	return Summary{Steps: 2, Attempts: 3, Calls: 1, Denied: 1, Usage: sampleUsage(), Cost: 0.0123, Unpriced: 1}
}

func sampleUsage() Usage {
	return Usage{Input: 1000, CacheRead: 800, CacheWrite: 100, Output: 50, Reasoning: 20}
}

// samples has an event of each kind with every field set, and some more where
// the same kind looks different.
func samples() []Event {
	list := append(sessionSamples(), turnSamples()...)
	for n := range list {
		list[n].V, list[n].Session, list[n].Seq = Version, "s1", uint64(n+1)
		list[n].At = sampleTime.Add(time.Duration(n) * time.Millisecond)
	}
	return list
}

func sessionSamples() []Event {
	return []Event{
		{By: "host", Data: SessionOpened{
			Settle: "0.1.0", Dir: "/work", Frontend: "run", PID: 42, Permission: "allow",
			Parent: "s0", ParentTurn: "t000001", ParentCall: "i000001", Child: "c000001", Depth: 1,
			Notes:    []string{"no supervisor: process groups only"},
			Imported: true,
			Process:  &Identity{PID: 42, Started: 1234, Boot: "b-1", Namespace: "pid:[4026531836]"},
			Worktree: &Worktree{
				Path: "/data/worktrees/s1", Dir: "/data/worktrees/s1/sub", Git: "/work/.git", Branch: "settle/s1",
				Base: "6f12bdb", From: "/work/sub",
			},
			Confinement: &Confinement{
				Withheld: &Withheld{Variables: []string{"GITHUB_TOKEN"}, Files: FilesHidden},
				Mode:     Workspace, Network: "off", By: []string{"landlock", "seccomp"}, Tried: 12,
				Missing: "no user namespaces", Gaps: []string{"modes of files"},
			},
		}},
		{By: "host", Data: SessionRecovered{
			PID: 41, Ended: 3, CutBytes: 17, Kept: "s1.damaged", Swept: []int{43, 44}, Message: "the host died",
		}},
		{By: "host", Data: SessionClosed{
			Reason: Shutdown, Message: "SIGTERM", Worktree: &WorktreeLeft{Kept: true, Why: "1 file changed"},
		}},
		{By: "user", Data: InputAccepted{
			Input: "n000001", Text: "fix <the> test & \"more\"\n\u2028", Mode: Steer,
			Images: []Image{{MediaType: "image/png", Data: []byte{0x89, 'P', 'N', 'G'}, Name: "a.png"}},
			Documents: []Document{{
				MediaType: "application/pdf", Data: []byte("%PDF-1.7"), Name: "a.pdf", Pages: 2,
				Text:      "--- page 1\nHello.",
				Encrypted: true, Problem: "page 2 has no text",
			}},
			Schema: json.RawMessage(`{"type":"object"}`),
		}},
		{By: "user", Data: InputAccepted{Input: "n000002", Text: "git status", Command: true}},
		{By: "user", Data: InputAccepted{Input: "n000003", Text: "I do not allow it", HeldCall: &HeldVerdict{
			Call: "5e", Turn: "t000001", Item: "i000001", Verdict: Denied, Message: "use a branch",
		}}},
		{By: "user", Data: InputAccepted{Input: "n000004", Text: "I approve it", HeldCall: &HeldVerdict{
			Call: "5f", Turn: "t000001", Item: "i000002", Verdict: Approved, Permission: "ask",
		}}},
		{By: "host", Data: InputHeld{Input: "n000001", Reason: Crashed}},
		{By: "user", Data: InputDropped{Input: "n000001"}},
		{Turn: "t000001", By: "signal:SIGINT", Data: InterruptRequested{Reason: Interrupted, Input: "n000001"}},
		{Turn: "t000001", Item: "i000001", By: "user", Data: InterruptRequested{Reason: Interrupted}},
		{
			Turn: "t000001",
			Item: "i000001",
			Data: JobStarted{
				Job:     "j000001",
				PID:     99,
				Command: "server",
				Log:     "/tmp/j.log",
				Mark:    "m/s1/r",
				Process: &Identity{PID: 99, Started: 1240, Boot: "b-1"},
				Keeper:  &Identity{PID: 98, Started: 1239, Boot: "b-1"},
			},
		},
		{By: "user", Data: JobEnded{
			Job: "j000001", How: JobKilled, ExitCode: new(137), Cause: sampleCause(),
			Survivors: []Process{{PID: 100, Command: "sudo x", Why: "operation not permitted"}},
			Quarantined: []string{
				"/work/x/.git/config is now config-quarantined-1: its config sets alias.st, by which git may run a program",
			},
		}},
		{Turn: "t000001", Item: "i000001", Data: ChildStarted{
			Child: "c000001", Session: "s2", Call: "i000001", Title: "look for the bug", Model: "gpt",
			Agent: &AgentSource{Name: "reviewer", Path: "/w/.claude/agents/reviewer.md", Hash: "ab12"},
			Worktree: &Worktree{
				Path:   "/data/worktrees/s2",
				Dir:    "/data/worktrees/s2/sub",
				Git:    "/work/.git",
				Branch: "settle/s2",
				Base:   "0a1b2c",
			},
		}},
		{Turn: "t000001", Item: "i000001", Data: ChildEnded{
			Child: "c000001", Outcome: Aborted, Cause: sampleCause(), Answer: "It is in", ElapsedMS: 1500, Spent: new(sampleSummary()),
			Worktree: &WorktreeLeft{Kept: true, Why: "1 file changed"},
		}},
		{Turn: "t000001", Item: "i000001", Data: HookStarted{
			Hook: "h000001", Event: HookBefore, Command: "check.sh", Source: "/work/.claude/settings.json", Input: "n000001", TimeoutMS: 10000,
		}},
		{Turn: "t000001", Item: "i000001", Data: HookEnded{
			Usage: &Usage{Input: 300, Output: 20}, Cost: new(0.001),
			Hook: "h000001", Outcome: Aborted, Cause: sampleCause(), Decision: Deny, Reason: "not here", Arguments: `{"command":"ls -l"}`,
			Context: "the branch is main", Message: "checked", Stop: true, ExitCode: new(2), Elapsed: 12, Output: "no\n",
			Survivors: []Process{{PID: 100, Command: "sudo x", Why: "operation not permitted"}},
		}},
	}
}

func turnSamples() []Event {
	in := func(d Data) Event {
		return Event{Turn: "t000001", Attempt: "a000001", Item: "i000001", Data: d}
	}
	turn := func(d Data) Event { return Event{Turn: "t000001", By: "user", Data: d} }
	attempt := func(d Data) Event { return Event{Turn: "t000001", Attempt: "a000001", Data: d} }
	return []Event{
		turn(TurnStarted{
			Inputs: []string{
				"n000001",
			}, Provider: "openai", Model: "gpt", Effort: "high", Permission: "allow", Purpose: Compaction,
			StreamLimits: &StreamLimits{FirstMS: 600_000, StallMS: 180_000, ThinkingMS: 900_000},
		}),
		attempt(HistoryChanged{
			Change: ChangeLeftOut, Provider: "openai", Model: "gpt", Tokens: 8192, LeftOut: []Part{PartReasoning}, Why: "Invalid request.",
			Trigger: TriggerFull, From: &Place{Turn: "t000001", Attempts: 2}, Summary: "goal: …", Digest: "inputs: …",
			Before: 9000, Piece: true,
		}),
		attempt(AttemptStarted{
			Step: 1, N: 2, Provider: "openai", Model: "gpt", Inputs: []string{"n000002"}, MaxTokens: 4096, Trimmed: 1, Basis: "0a1b2c3d", Purpose: Compaction,
		}),
		attempt(AttemptEnded{
			Outcome: Failed, Reason: Interrupted, StopReason: "end_turn", ResponseID: "resp_1", Usage: sampleUsage(), Estimated: true, Cost: new(0.0123),
			Failure: sampleFailure(), RetryIn: new(int64(4000)), Discarded: []string{"i000001"},
			Tokens: &Tokens{
				Prompt:     []int32{1, 151644},
				Completion: []int32{9707},
				Logprobs:   []float64{-0.25},
				Incomplete: true,
			},
		}),
		in(ItemStarted{Type: ToolCall, ProviderID: "fc_1", CallID: "call_1", Name: "shell"}),
		in(ItemDelta{Stream: Arguments, Text: "{\"command\":\"ls <x> \\\\ é\"}\u2029"}),
		in(ItemDelta{Stream: Output, Text: "\n[the connection to the executor is back]\n", Notice: true}),
		in(
			CallReady{
				Name:      "shell",
				CallID:    "call_1",
				Arguments: `{"command":"ls"}`,
				Sent:      &Sent{Name: "exec_command", Arguments: `{"cmd":"ls"}`},
				Signature: &ProviderSignature{Format: SignatureMembers, Data: `{"extra_content":{}}`},
			},
		),
		in(ApprovalRequested{
			Approval: "p000001", Tool: "shell", Title: "ls", Why: "writes outside", Detail: json.RawMessage(`{"a":[1,2]}`),
			Text: "shell\n  command:\n      ls", Covers: "this command in this directory", Once: true, Places: samplePlaces(), Child: "c000001",
			Files: "5f70", Sandbox: Workspace, Permission: "ask", Review: "the review asks a person: it is odd",
		}),
		in(ApprovalEnded{Approval: "p000001", Verdict: Denied, Message: "not now", Policy: "deny", Explain: true}),
		in(ApprovalEnded{Approval: "p000001", Verdict: Approved, Arguments: `{"command":"ls -l"}`, SHA256: "e3b0c442"}),
		in(ApprovalEnded{Approval: "p000001", Verdict: Approved, Permission: "accept-edits"}),
		in(
			CallStarted{
				Title:     "ls",
				Sandbox:   ReadOnly,
				Secrets:   SecretsWithheld,
				Arguments: `{"command":"ls -l"}`,
				Places:    samplePlaces(),
			},
		),
		in(ApprovalRequested{
			Approval: "p000002", Tool: "db__query", Title: "db asks for input", Text: "db asks",
			Form: &Form{
				Server:  "db",
				Message: "Which one?",
				Schema:  json.RawMessage(`{"type":"object"}`),
				URL:     "https://example.com/",
			},
		}),
		in(ApprovalRequested{
			Approval: "p000003", Tool: "ask_user", Title: "Which one?", Text: "question 1",
			Form: &Form{Questions: []Question{{
				Question: "Which one?", Header: "Database", Options: []Choice{{"SQLite", "a file"}},
				MultiSelect: true, Default: "SQLite",
			}}},
		}),
		in(ItemEnded{Status: ItemAborted, Effects: EffectsPartial, Cause: sampleCause(), Content: sampleContent()}),
		{Turn: "t000001", Item: "i000002", Volatile: true, Data: ItemEnded{
			Status: ItemCompleted, Content: Content{Type: Note, Text: "the same call 3 times"},
		}},
		turn(TurnCompleted{Answer: "All tests pass.", Summary: sampleSummary()}),
		turn(TurnAborted{Reason: LimitReached, Limit: LimitTime, Message: "after 30 min", Summary: sampleSummary()}),
		turn(TurnAborted{Reason: Crashed, StoppedAt: sampleTime, Summary: sampleSummary()}),
		turn(TurnFailed{Failure: sampleFailure(), Summary: sampleSummary()}),
	}
}

func sampleContent() Content {
	return Content{
		Type: ToolCall, Text: "text", Provider: "openai", Model: "gpt", ProviderID: "fc_1",
		Signature: &ProviderSignature{Format: "encrypted", Data: "gAAA"}, CallID: "call_1", Name: "shell", Arguments: `{"command":"ls"}`,
		Sent: &Sent{
			Name:      "exec_command",
			Arguments: `{"cmd":"ls"}`,
		}, Output: "a.go\n", OutputFile: "/tmp/out", OutputBytes: 5, ExitCode: new(0), Detail: json.RawMessage(`{"diff":"-"}`),
		Jobs: []string{
			"j000001",
		}, Survivors: []Process{{PID: 100, Command: "sudo x", Why: "operation not permitted"}}, Child: "c000001", Instruction: "/work/sub/AGENTS.md",
		Effective: `{"command":"ls -l"}`,
	}
}

func samplePlaces() []ResolvedPath {
	return []ResolvedPath{{Path: "/work/docs/keys", Real: "/home/user/.ssh/keys", Shared: true}}
}
