package proof

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mutation breaks one clause of the contract on purpose, and names the test that must notice it.
// docs/reference/proof.md lists them; `make break` tries them all.
type mutation struct {
	clause   string
	file     string // below the module's root
	old, new string // old occurs once
	test     string // package and -run pattern; "" for the simulation
}

func mutations() []mutation {
	return []mutation{
		{
			"C1",
			"event/endings.go",
			"return append(out, Event{Turn: t.ID, By: c.By, Data: terminal(s, c, t)})",
			"return out",
			"",
		},
		{
			"C2",
			"event/endings.go",
			"		if i.Status == ItemOpen {\n			out = append(append(out, t.expired(i, c)...), i.ending(c))",
			"		if i.Status == ItemOpen && i.Type() == ToolCall {\n			out = append(append(out, t.expired(i, c)...), i.ending(c))",
			"",
		},
		{
			"C3",
			"event/event.go",
			"		TurnCompleted, TurnAborted, TurnFailed,\n		SessionOpened",
			"		SessionOpened",
			"",
		},
		{
			"C4",
			"internal/journal/writer.go",
			"			l.settle(b, l.put(b, h))",
			"			late := append([]event.Event(nil), b.events...)\n			l.settle(b, nil)\n			_ = l.store.Append(late, Durably)\n			_ = h",
			"",
		},
		{
			"C5",
			"event/event.go",
			"InputAccepted, InputHeld, InputDropped, CallStarted,",
			"InputAccepted, InputHeld, InputDropped,",
			"",
		},
		{"C6", "internal/history/response.go", "	w.respond(append(list, outputs...))", "	w.respond(list)", ""},
		{
			"C6",
			"internal/history/degrade.go",
			"		if stats.Parts&all[at].of != 0 {",
			"		if stats.Parts&all[at].of != 0 && all[at].part == event.PartReasoning {",
			"",
		},
		{
			"C6",
			"internal/history/trial.go",
			"		r.omit(*r.trial)\n		r.trial = nil",
			"		r.trial = nil",
			"",
		},
		{"C6", "internal/history/window.go", "		r.Retry, r.Note = true,", "		r.Retry, r.Note = false,", ""},
		{"C7", "event/endings.go", "		if j.Ended == nil {", "		if j.Ended == nil && j.PID == 0 {", ""},
		{
			"C8",
			"internal/proc/process.go",
			"	p.out.drain(ctx)\n",
			"	select {\n	case <-p.out.ended:\n	case <-time.After(time.Minute):\n	}\n",
			"./internal/proc TestGrandchildHoldsThePipe",
		},
		{
			"C9",
			"internal/turn/turn.go",
			"	settleMargin = 200 * time.Millisecond\n	// clearMargin is the time after the grace for all calls together (C9).\n	clearMargin = 250 * time.Millisecond",
			"	settleMargin, clearMargin = 200 * time.Second, 250 * time.Second",
			"",
		},
		{
			"C10",
			"internal/session/interrupt.go",
			"	s.running.waiters = append(s.running.waiters, w)",
			"	w.answer <- Outcome{Turn: s.running.id, Cause: w.cause}",
			"",
		},
		{
			"C11",
			"internal/turn/attempt.go",
			"event.AttemptEndings(s, cause, end)...)",
			"event.Endings(s, cause)...)",
			"",
		},
		{"C12", "internal/turn/watchdog.go", "rest > 0 {", "rest > -1000*time.Hour {\n		rest = time.Hour", ""},
		{
			"C13",
			"internal/turn/attempt.go",
			"	if decision.retry {\n		ms",
			"	if decision.retry && decision.attempt > 1 {\n		ms",
			"",
		},
		{"C14", "internal/turn/turn.go", "	case exit == nil:", "	case exit == nil || interrupted == nil:", ""},
		{
			"C14",
			"internal/client/stdio/stop.go",
			"	case cause.Outcome == event.Failed:\n		return CodeFailed",
			"	case cause.Outcome == event.Failed:\n		return CodeCompleted",
			"./internal/client/stdio .",
		},
		{"C15", "internal/turn/demux.go", "return i.mask.Write(i.runes.Write(text))", "return i.runes.Write(text)", ""},
		{
			"C16",
			"internal/session/approvals.go",
			"		if found.Ended != nil {",
			"		if found.Ended != nil && found.Ended.Verdict == event.Expired {",
			"",
		},
		{
			"C17",
			"internal/journal/feed.go",
			"	if after < f.last {",
			"	if after > 6 && after < f.last-1 {\n		after++\n	}\n	if after < f.last {",
			"",
		},
		{
			"C18",
			"event/endings.go",
			`func(i Input) bool { return i.Stopped == "" })`,
			"func(Input) bool { return true })",
			"",
		},
		{"C19", "event/endings.go", "		if !i.Held {", "		if !i.Held && i.Mode == Replace {", ""},
		{
			"C20",
			"internal/session/session.go",
			"	if !died && damage.CutBytes == 0 {",
			"	if damage.CutBytes == 0 {",
			"",
		},
		{
			"C22",
			"internal/sandbox/filter_linux.go",
			"unless(unix.BPF_JEQ, number, 1), answer(refuse)",
			"unless(unix.BPF_JEQ, number, 1), answer(allow)",
			"./internal/sandbox TestSystemCalls",
		},
		{
			"C22",
			"internal/sandbox/enter_linux.go",
			"unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL",
			"unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET",
			"./internal/sandbox TestSignals",
		},
		{
			"C22",
			"internal/policy/confine.go",
			"p.config.Confine {",
			"p.config.Confine && false {",
			"./internal/assemble TestWhichCallsAreConfined",
		},
		{
			"C22",
			"internal/proc/supervisor_linux.go",
			"if c.proxyListener, c.err = sandbox.Enter(*o.Sandbox); c.err != nil {",
			"if c.proxyListener = -1; c.err != nil {",
			"./internal/test/escape TestEscapeTable",
		},
		{"C22", "internal/sandbox/filter_linux.go", "unix.SYS_MSGGET,", "", "./internal/test/escape TestEscapeTable"},
		{
			"C22",
			"internal/sandbox/filter_linux.go",
			"unless(unix.BPF_JSET, unix.MSG_FASTOPEN, 1),\n\t\t\tanswer(refuse)",
			"unless(unix.BPF_JSET, unix.MSG_FASTOPEN, 1),\n\t\t\tanswer(allow)",
			"./internal/test/escape TestEscapeTable",
		},
		{"C22", "internal/egress/dial.go", "if Public(a) || ", "if a.IsValid() || ", "./internal/egress TestDialer"},
		{
			"C22",
			"internal/egress/proxy.go",
			"if !p.hosts.Allows(t) {",
			"if false {",
			"./internal/egress TestGateCarriesHTTP",
		},
		{
			"C22",
			"internal/egress/proxy.go",
			"[]byte(proxyUser+\":\"+p.secret)) == 1",
			"[]byte(proxyUser+\":\"+p.secret)) >= 0",
			"./internal/egress TestGateKnowsItsCommand",
		},
		{
			"C21",
			"internal/history/conversation.go",
			"	return c.refused.marks == marks && c.refused.trial == nil",
			"	return marks >= 0",
			"",
		},
		{
			"C21",
			"internal/history/walk.go",
			"turn: w.at, kind: prompt})",
			"turn: w.at, kind: prompt})\n	w.entries = w.entries[:n]",
			"",
		},
		{
			"C21",
			"internal/history/walk.go",
			"			case i.Attempt == \"\" && i.Attempts <= w.attempts:",
			"			case i.Attempt == \"\":",
			"./internal/history TestRequestsExtendOneAnother",
		},
		{
			"C21",
			"internal/turn/attempt.go",
			"append(t.changeEvents(built.Changes...), event.Event{",
			"append(t.changeEvents(), event.Event{",
			"",
		},
		{
			"C19",
			"internal/history/compact.go",
			"(w.isProtected(e) || cut.reaches(e))",
			"cut.reaches(e)",
			"./internal/turn TestCompactionKeepsTurnGoing",
		},
		{
			"C9",
			"internal/turn/compact.go",
			"; ok && step-last < minCompactionSteps {",
			"; ok && step-last < -minCompactionSteps {",
			"./internal/test/proof TestCompaction/full_again",
		},
		{
			"C4",
			"internal/journal/acquire.go",
			"\tcase !same(f, path):",
			"\tcase false:",
			"./internal/journal TestLockOfADeletedFile",
		},
		{
			"C4",
			"internal/journal/filestore.go",
			"\tif s.newborn {",
			"\tif s.newborn = false; s.newborn {",
			"./internal/journal TestANewLogIsDurableWithItsName",
		},
		{
			"C4",
			"internal/journal/filestore.go",
			"\tcase err != nil || os.SameFile(info, s.info):",
			"\tcase err != nil || info != nil:",
			"./internal/journal TestReplacedLog",
		},
		{
			"C4",
			"tool/file/atomic.go",
			"\t\terr = s.sync(filepath.Join(s.dir.Path(), name), f.Sync)",
			"\t\t_, err = filepath.Join(s.dir.Path(), name), nil",
			"./tool/file TestReplacingIsDurable",
		},
		{
			"C4",
			"tool/file/atomic.go",
			"\tif err := s.sync(s.dir.Path(), s.dir.Sync); err != nil {",
			"\tif err := error(nil); err != nil {",
			"./tool/file TestReplacingIsDurable",
		},
		{
			"C7",
			"internal/session/session.go",
			"\t} else if s.config.Sweep != nil {",
			"\t} else if s.config.Sweep != nil && s.log() == nil {",
			"./internal/session TestRecoverySweepsAllButWhatWasReleased",
		},
		{
			"C7",
			"internal/proc/supervised_linux.go",
			"\tendOrphans(k.marker, k.cmd.Process.Pid)\n}",
			"}",
			"./internal/proc TestDiscardEndsOrphans",
		},
		{
			"C10",
			"internal/session/turns.go",
			"\tif len(s.closing) > 0 {\n\t\ts.serveLateInterrupts()\n\t\ts.closeAfterHooks()",
			"\tif len(s.closing) > 0 {\n\t\ts.closeAfterHooks()",
			"./internal/session TestCloseAnswersLateInterrupts",
		},
		{
			"C18",
			"internal/turn/calls.go",
			"\tt.cancel(t.causeOf(exit, nil))\n",
			"\t_ = exit\n",
			"./internal/turn TestAFailingTurnCancelsItsCalls",
		},
		{
			"C18",
			"internal/turn/completion.go",
			"unasked || joining > 0 || len(s.UnreportedChildren()) > 0 {",
			"unasked || joining > 0 {",
			"./internal/test/proof TestCatalogue",
		},
		{
			"C18",
			"event/fold_turn.go",
			"\t\ts.Child(d.Child).Reported = true",
			"\t\t_ = s.Child(d.Child)",
			"./event TestModelLearnsOfChildEndOnce",
		},
		{
			"C18",
			"internal/session/children.go",
			"if s.config.ChildAgents != nil && cause.Outcome == event.Aborted {",
			"if s.config.ChildAgents != nil && cause.Outcome == event.Completed {",
			". TestParentEndEndsChildren",
		},
		{
			"C16",
			"internal/hooks/run.go",
			"\t\td.Decision = event.Deny\n",
			"\t\td.Decision = \"\"\n",
			". TestFailingBlockingHooksDeny",
		},
		{
			"C16",
			"internal/turn/hooks.go",
			"\tif v.Denied() {\n\t\treturn refusedByHook(c.name, v.Reason)\n\t}\n",
			"",
			". TestPublishedHook",
		},
		{
			"C16",
			"internal/turn/hooks.go",
			"\tif refused != nil && !t.hasInput() {",
			"\tif refused != nil && t.hasInput() {",
			". TestRefusedPrompt",
		},
		{"C16", "internal/history/walk.go", "in.RunsCall() || in.Kept() {", "in.Command {", ". TestRefusedPrompt"},
		{
			"C16",
			"internal/hooks/blocking.go",
			"\t\tlast, c.Arguments = next, next.arguments\n",
			"\t\treturn Verdict{Arguments: next.arguments}, nil\n",
			"./internal/hooks TestBlockingHooksSeeFinalCall",
		},
		{
			"C16",
			"internal/hooks/answer.go",
			"\tif !looksLikeJSON(stdout) {",
			"\tif !bytes.HasPrefix(stdout, []byte(\"{\")) {",
			"./internal/hooks TestAnswers",
		},
		{
			"C16",
			"permission.go",
			"\t\ts.judge = s.origin.parent.judge",
			"\t\t_ = s.origin",
			". TestApprovalsOfChildren",
		},
		{
			"C16",
			"event/endings.go",
			"\t\t\tfor _, a := range child.Approvals {\n",
			"\t\t\tfor _, a := range child.Approvals[:0] {\n",
			"./event TestClosingsEndEverySession",
		},
		{
			"C16",
			"internal/session/child_approvals.go",
			"return event.Event{}, child.Ended == nil",
			"return event.Event{}, false",
			". TestApprovalsOfBackgroundChildren",
		},
		{
			"C18",
			"internal/agents/orphans.go",
			"end.Spent, end.Answer = &spent, ",
			"_, end.Answer = &spent, ",
			". TestRecoveryCountsChildren",
		},
		{
			"C9",
			"internal/agents/child.go",
			"return c.causeOf(cause).Reason == event.Parent",
			"return c.causeOf(cause).Reason == event.Crashed",
			". TestAnInterruptDoesNotWaitForWorktrees",
		},
		{
			"C20",
			"internal/journal/repair.go",
			"beside.Sync(), beside.SyncName(), beside.Close())",
			"beside.Close())",
			"./internal/journal TestACutIsDurable",
		},
		{
			"C20",
			"internal/journal/repair.go",
			"\tif err := r.file.Sync(); err != nil {",
			"\tif err := error(nil); err != nil {",
			"./internal/journal TestACutIsDurable",
		},
		{
			"C20",
			"internal/catalogue/entry.go",
			"free && err == nil {",
			"free && err != nil {",
			"./internal/catalogue TestRunningFollowsTheLock",
		},
		{
			"C23",
			"internal/session/session.go",
			"j.Ended.How == event.JobReleased && ",
			"j.Ended.How == event.JobLost && ",
			"./internal/session TestRecoverySweepsAllButWhatWasReleased",
		},
		{
			"C23",
			"internal/journal/take.go",
			"> t.options.TakeGrace && !t.killed",
			"> 0 && !t.killed",
			"./internal/journal TestTakeGrace",
		},
		{
			"C23",
			"internal/journal/take.go",
			"t.options); len(others) > 0 {",
			"t.options); len(others) > 1000 {",
			"./internal/journal TestTakeSignalsNobodyElse",
		},
		{
			"C23",
			"internal/proc/identity.go",
			"; !ok || started != id.Started {",
			"; !ok || started == 0 {",
			"./internal/proc TestIdentity",
		},
		{
			"C23",
			"internal/proc/reaper_linux.go",
			"!slices.Contains(spare, value)",
			"!slices.Contains(spare, value+\"x\")",
			"./internal/proc TestSweepSparesWhatIsNotItsOwn",
		},
		{
			"C23",
			"internal/proc/unmanaged_linux.go",
			"\t\t\thost.unmanaged.possible = true\n",
			"",
			"./internal/proc TestChildrenAtTheStartAreNotOurs",
		},
		{
			"C23",
			"internal/proc/unmanaged_linux.go",
			"\tcase s.known[n.identity()]:",
			"\tcase false:",
			"./internal/proc TestReleasedOrphansAreNotOursAnyMore",
		},
		{
			"C5",
			"internal/executor/message_link.go",
			"\tcase seq <= l.received: // a repetition\n\t\tl.mu.Unlock()\n",
			"\tcase seq <= l.received: // a repetition\n\t\tl.mu.Unlock()\n\t\tdeliver(m)\n",
			"./internal/test/proof TestSimulationOfExecutor",
		},
		{
			"C5",
			"internal/executor/reconnect.go",
			"\t\tclose(c)\n",
			"\t\tc <- answer{}\n",
			"./internal/test/proof TestSimulationOfExecutor",
		},
		{
			"C7",
			"internal/executor/serve.go",
			"\tb.link.hangUp()\n\tb.end(b.grace())\n\tif b.link.idle() {",
			"\tb.link.hangUp()\n\tif b.link.idle() {",
			"./internal/test/proof TestSimulationOfExecutor",
		},
	}
}

// A mutation that cannot be made any more proves nothing.
func TestMutationsCanBeMade(t *testing.T) {
	told, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "proof.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations() {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(raw), m.old); n != 1 {
			t.Errorf("%s: %s has %d of\n%s", m.clause, m.file, n, m.old)
		}
		for where := range strings.FieldsSeq(m.test) {
			if _, err := os.Stat(filepath.Join("..", "..", "..", where)); strings.HasPrefix(where, ".") && err != nil {
				t.Errorf("%s in %s: %v", m.clause, m.file, err)
			}
		}
		if !strings.Contains(string(told), "| "+m.clause+" | `"+m.file+"` |") {
			t.Errorf("docs/reference/proof.md does not tell of %s in %s", m.clause, m.file)
		}
	}
}

// A mutation whose test does not exist would never be noticed.
func TestMutationsNameExistingTests(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, m := range mutations() {
		dir, pattern, _ := strings.Cut(m.test, " ")
		name, _, _ := strings.Cut(pattern, "/")
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s %s: no tests in %s: %v", m.clause, m.file, dir, err)
			continue
		}
		found := false
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(content), "func "+strings.TrimSuffix(name, "$"))
		}
		if !found {
			t.Errorf("%s %s: there is no %s in %s", m.clause, m.file, name, dir)
		}
	}
}
