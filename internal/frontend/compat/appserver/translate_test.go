package appserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/model"
)

// eventLog is a log that a test writes.
type eventLog struct {
	t   *testing.T
	tr  *translator
	seq uint64
	all []string // notifications, in brief
}

func newEventLog(t *testing.T) *eventLog {
	t.Helper()
	b := &eventLog{t: t, tr: newTranslator(event.State{})}
	b.tr.thread = "s"
	b.write(
		event.Event{Data: event.SessionOpened{Dir: "/w"}},
		event.Event{Data: event.InputAccepted{Input: "n000001", Text: "do it"}},
		event.Event{
			Turn: "t000001",
			Data: event.TurnStarted{Inputs: []string{"n000001"}, Provider: "openai", Model: "m"},
		},
	)
	b.all = nil
	return b
}

// write appends events and records their notifications.
func (b *eventLog) write(events ...event.Event) {
	b.t.Helper()
	for _, e := range events {
		for _, n := range b.step(e) {
			b.all = append(b.all, brief(b.t, n))
		}
	}
}

// step appends an event and returns its notifications.
func (b *eventLog) step(e event.Event) []note {
	b.t.Helper()
	b.seq++
	e.V, e.Session, e.Seq = event.Version, "s", b.seq
	e.At = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).Add(time.Duration(b.seq) * time.Millisecond)
	notes, err := b.tr.step(e)
	if err != nil {
		b.t.Fatal(err)
	}
	return notes
}

// brief returns a notification as a line.
func brief(t *testing.T, n note) string {
	t.Helper()
	raw, err := json.Marshal(n.Params)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Delta string
		Item  struct {
			ID, Status, Text, Command string
			AggregatedOutput          *string
			Changes                   []struct{ Path, Diff string }
			Type, Query               string
			Action                    struct{ Type string }
			Results                   []struct{ URL string }
			Error                     struct{ Message string }
		}
		Turn   struct{ Status string }
		Status struct {
			Type        string
			ActiveFlags []string
		}
		Error     struct{ Message string }
		WillRetry *bool
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	words := []string{
		n.Method,
		p.Item.ID,
		p.Item.Status,
		p.Item.Text,
		p.Item.Command,
		p.Delta,
		p.Turn.Status,
		p.Status.Type,
	}
	words = append(words, p.Status.ActiveFlags...)
	if p.Item.AggregatedOutput != nil {
		words = append(words, fmt.Sprintf("%q", *p.Item.AggregatedOutput))
	}
	if p.Item.Type == "webSearch" {
		words = append(words, p.Item.Type, p.Item.Query, p.Item.Action.Type)
		for _, r := range p.Item.Results {
			words = append(words, r.URL)
		}
		words = append(words, p.Item.Error.Message)
	}
	for _, c := range p.Item.Changes {
		words = append(words, c.Path, fmt.Sprintf("%q", c.Diff))
	}
	if p.WillRetry != nil {
		words = append(words, p.Error.Message, fmt.Sprint(*p.WillRetry))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func (b *eventLog) want(lines ...string) {
	b.t.Helper()
	if diff := cmp.Diff(lines, b.all); diff != "" {
		b.t.Errorf("what was said (-want +got):\n%s", diff)
	}
}

// of is an event of the turn's first attempt, about an item if one is named.
func of(item string, d event.Data) event.Event {
	return event.Event{Turn: "t000001", Attempt: "a000001", Item: item, Data: d}
}

func (b *eventLog) attempt() {
	b.write(of("", event.AttemptStarted{Step: 1, N: 1}))
}

// call has the model call a tool.
func (b *eventLog) call(item, tool, arguments string) {
	b.write(of(item, event.ItemStarted{Type: event.ToolCall, Name: tool, CallID: item}),
		of(item, event.ItemDelta{Stream: event.Arguments, Text: arguments}),
		of(item, event.CallReady{Name: tool, CallID: item, Arguments: arguments}))
}

func (b *eventLog) end(item, tool, arguments string, status event.Status, output, detail string) {
	d := event.ItemEnded{
		Status:  status,
		Content: event.Content{Type: event.ToolCall, Name: tool, CallID: item, Arguments: arguments, Output: output},
	}
	if detail != "" {
		d.Detail = json.RawMessage(detail)
	}
	b.write(of(item, d))
}

func TestWhatTheModelSays(t *testing.T) {
	b := newEventLog(t)
	b.attempt()
	b.write(
		of("i000001", event.ItemStarted{Type: event.Reasoning}),
		of("i000001", event.ItemDelta{Stream: event.Text, Text: "Let me "}),
		of("i000001", event.ItemDelta{Stream: event.Text, Text: "see."}),
		of(
			"i000001",
			event.ItemEnded{
				Status:  event.ItemCompleted,
				Content: event.Content{Type: event.Reasoning, Text: "Let me see."},
			},
		),
		of("i000002", event.ItemStarted{Type: event.Message}),
		of("i000002", event.ItemDelta{Stream: event.Text, Text: "Done."}),
		of(
			"i000002",
			event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Message, Text: "Done."}},
		),
		of("", event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 7, Output: 3}}),
		event.Event{Turn: "t000001", Data: event.TurnCompleted{}},
	)
	b.want(
		"item/started i000001",
		"item/reasoning/summaryPartAdded",
		"item/reasoning/summaryTextDelta Let me",
		"item/reasoning/summaryTextDelta see.",
		"item/completed i000001",
		"item/started i000002",
		"item/agentMessage/delta Done.",
		"item/completed i000002 Done.",
		"thread/tokenUsage/updated",
		"thread/status/changed idle",
		"turn/completed completed",
	)
}

// A plan is sent when the call that sets it has completed.
func TestPlan(t *testing.T) {
	const arguments = `{"explanation":"why","plan":[{"step":"Look.","status":"completed"},{"step":"Tell.","status":"in_progress"}]}`
	b := newEventLog(t)
	b.attempt()
	for n, status := range []event.Status{event.ItemFailed, event.ItemCompleted} {
		item := fmt.Sprintf("i00000%d", n)
		b.call(item, "plan", arguments)
		b.write(of(item, event.CallStarted{}))
		b.end(item, "plan", arguments, status, "ok", "")
	}
	b.want(
		"item/started i000000 inProgress", "item/completed i000000 failed",
		"item/started i000001 inProgress", "turn/plan/updated", "item/completed i000001 completed",
	)
	got, err := json.Marshal(planOf(toolview.New("plan", arguments, "/w").Plan))
	want := `{"explanation":"why","plan":[{"status":"completed","step":"Look."},{"status":"inProgress","step":"Tell."}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// A search of the web is an item of its own; a failed one has the reason.
func TestSearches(t *testing.T) {
	b := newEventLog(t)
	b.attempt()
	const args = `{"query":"go"}`
	for n, status := range []event.Status{event.ItemCompleted, event.ItemFailed} {
		item := fmt.Sprintf("i00000%d", n)
		b.call(item, "web_search", args)
		b.write(of(item, event.CallStarted{}))
		b.end(
			item, "web_search", args, status, "what it said",
			`{"query":"go","sources":[{"title":"Go","url":"https://go.dev/"}]}`,
		)
	}
	b.want(
		"item/started i000000 inProgress webSearch go search",
		"item/completed i000000 completed webSearch go search https://go.dev/",
		"item/started i000001 inProgress webSearch go search",
		"item/completed i000001 failed webSearch go search https://go.dev/ what it said",
	)
}

// A command is shown when its arguments are complete, and not at all before.
func TestCommands(t *testing.T) {
	b := newEventLog(t)
	b.attempt()
	const args = `{"command":"make"}`
	b.call("i000001", "shell", args)
	b.write(
		of("i000001", event.CallStarted{Title: "make"}),
		of("i000001", event.ItemDelta{Stream: event.Output, Text: "ok\n"}),
	)
	b.end("i000001", "shell", args, event.ItemCompleted, "ok\n", "")
	b.write(
		of("i000002", event.ItemStarted{Type: event.ToolCall, Name: "shell"}),
		of("i000002", event.ItemDelta{Stream: event.Arguments, Text: `{"comm`}),
	)
	cause := event.Abort(event.Interrupted, "client")
	b.write(
		of(
			"i000002",
			event.ItemEnded{
				Status:  event.ItemAborted,
				Effects: event.EffectsNone,
				Cause:   cause,
				Content: event.Content{Type: event.ToolCall, Name: "shell", Arguments: `{"comm`},
			},
		),
		of("", event.AttemptEnded{Outcome: event.Aborted, Reason: event.Interrupted}),
		event.Event{Turn: "t000001", Data: event.TurnAborted{Reason: event.Interrupted}},
	)
	b.want(
		"item/started i000001 inProgress make",
		"item/commandExecution/outputDelta ok",
		`item/completed i000001 completed make "ok\n"`,
		"thread/status/changed idle",
		"turn/completed interrupted",
	)
}

// A command that a person changed ends as it ran.
func TestChangedCommand(t *testing.T) {
	b := newEventLog(t)
	b.attempt()
	const ran = `{"command":"make -n"}`
	b.call("i000001", "shell", `{"command":"make"}`)
	b.write(
		of("i000001", event.ApprovalRequested{Approval: "p000001", Tool: "shell"}),
		of("i000001", event.ApprovalEnded{Approval: "p000001", Verdict: event.Approved, Arguments: ran}),
		of("i000001", event.CallStarted{Title: "make -n", Arguments: ran}),
		of("i000001", event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
			Type: event.ToolCall, Name: "shell", CallID: "i000001", Arguments: `{"command":"make"}`, Effective: ran,
			Output: "ok\n",
		}}),
	)
	b.want(
		"item/started i000001 inProgress make",
		"thread/status/changed active waitingOnApproval",
		"thread/status/changed active",
		`item/completed i000001 completed make -n "ok\n"`,
	)
}

// A change of files is shown with its diff: in a question about it, or when it is made.
func TestChanges(t *testing.T) {
	const made = `{"files":[{"path":"a.txt","kind":"create","diff":"--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n","added":2,"removed":0}]}`
	const moved = `{"files":[{"path":"b.txt","from":"a.txt","kind":"move","diff":"--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n","added":1,"removed":1},{"path":"c.txt","kind":"delete","diff":"--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n","added":0,"removed":1}]}`
	b := newEventLog(t)
	b.attempt()
	b.call("i000001", "write", `{"path":"a.txt","content":"one\ntwo"}`)
	b.write(
		of("i000001", event.ApprovalRequested{Approval: "p000001", Tool: "write", Detail: json.RawMessage(made)}),
		of("i000001", event.ApprovalEnded{Approval: "p000001", Verdict: event.Approved}),
		of("i000001", event.CallStarted{Title: "write a.txt"}),
	)
	b.end("i000001", "write", `{"path":"a.txt","content":"one\ntwo"}`, event.ItemCompleted, "created", made)
	b.call("i000002", "apply_patch", `{"input":"…"}`)
	b.write(of("i000002", event.CallStarted{Title: "apply_patch"}))
	b.end("i000002", "apply_patch", `{"input":"…"}`, event.ItemCompleted, "done", moved)
	b.want(
		`item/started i000001 inProgress /w/a.txt "one\ntwo"`,
		"thread/status/changed active waitingOnApproval",
		"thread/status/changed active",
		"item/fileChange/patchUpdated",
		`item/completed i000001 completed /w/a.txt "one\ntwo"`,
		`item/started i000002 inProgress /w/a.txt "@@ -1 +1 @@\n-one\n+two\n" /w/c.txt "gone\n"`,
		`item/completed i000002 completed /w/a.txt "@@ -1 +1 @@\n-one\n+two\n" /w/c.txt "gone\n"`,
	)
}

// A refused call was declined; a call that never ran for another reason has failed.
func TestRefusals(t *testing.T) {
	b := newEventLog(t)
	b.attempt()
	for n, verdict := range []event.Verdict{event.Denied, event.Expired} {
		id, p := fmt.Sprintf("i%06d", n+1), fmt.Sprintf("p%06d", n+1)
		b.call(id, "shell", `{"command":"rm x"}`)
		b.write(
			of(id, event.ApprovalRequested{Approval: p, Tool: "shell", Title: "rm x"}),
			of(id, event.ApprovalEnded{Approval: p, Verdict: verdict}),
		)
		b.end(id, "shell", `{"command":"rm x"}`, event.ItemFailed, "no", "")
	}
	var ends []string
	for _, line := range b.all {
		if strings.HasPrefix(line, "item/completed") {
			ends = append(ends, line)
		}
	}
	want := []string{`item/completed i000001 declined rm x "no"`, `item/completed i000002 failed rm x "no"`}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Error(diff)
	}
}

// C13: a failed attempt is reported with the wait for the next one; the last attempt with the
// turn's end.
func TestFailures(t *testing.T) {
	b := newEventLog(t)
	wait := int64(1500)
	fault := &event.Failure{Name: event.NameProvider, Kind: string(model.ErrOverloaded), Status: 529, Message: "busy"}
	b.attempt()
	b.write(of("", event.AttemptEnded{Outcome: event.Failed, Failure: fault, RetryIn: &wait}))
	b.write(
		event.Event{Turn: "t000001", Attempt: "a000002", Data: event.AttemptStarted{Step: 1, N: 2}},
		event.Event{
			Turn:    "t000001",
			Attempt: "a000002",
			Data:    event.AttemptEnded{Outcome: event.Failed, Failure: fault},
		},
		event.Event{Turn: "t000001", Data: event.TurnFailed{Failure: fault}},
	)
	b.want(
		"error busy; trying again in 1.5s true", "thread/status/changed systemError", "error busy false",
		"turn/completed failed",
	)
}

func TestErrorInfo(t *testing.T) {
	for _, c := range []struct {
		failure event.Failure
		want    string
	}{
		{event.Failure{Kind: string(model.ErrAuth), Status: 403}, `"unauthorized"`},
		{event.Failure{Kind: string(model.ErrQuota), Status: 402}, `"usageLimitExceeded"`},
		{event.Failure{Name: event.NameRetryExhausted, Kind: string(model.ErrRateLimit), Status: 429}, `"usageLimitExceeded"`},
		{event.Failure{Name: event.NameRetryExhausted, Kind: string(model.ErrOverloaded), Status: 529}, `"serverOverloaded"`},
		{event.Failure{Kind: string(model.ErrContext), Status: 400}, `"contextWindowExceeded"`},
		{event.Failure{Kind: string(model.ErrNotFound), Status: 404}, `"modelNotFound"`},
		{event.Failure{Kind: string(model.ErrInvalid), Status: 400}, `"badRequest"`},
		{event.Failure{Kind: string(model.ErrToolSearch), Status: 400}, `"badRequest"`},
		{event.Failure{Kind: string(model.ErrPolicy)}, `"cyberPolicy"`},
		{event.Failure{Name: event.NameRetryExhausted, Kind: string(model.ErrConnection)}, `{"httpConnectionFailed":{"httpStatusCode":null}}`},
		{event.Failure{Name: event.NameRetryExhausted, Kind: string(model.ErrServer), Status: 500}, `{"responseTooManyFailedAttempts":{"httpStatusCode":500}}`},
		{event.Failure{Name: event.NameProvider, Kind: string(model.ErrTruncated)}, `{"responseStreamDisconnected":{"httpStatusCode":null}}`},
		{event.Failure{Name: event.NamePanic}, `"internalServerError"`},
		{event.Failure{Name: event.NameJournal}, `"other"`},
	} {
		got, err := json.Marshal(errorInfo(&c.failure))
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v; want %s", c.failure, got, err, c.want)
		}
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		cause  *event.Cause
		status string
		said   string
	}{
		{nil, "inProgress", ""},
		{event.Complete(), "completed", ""},
		{event.Abort(event.Interrupted, "client"), "interrupted", ""},
		{event.Abort(event.Replaced, "client"), "interrupted", "replaced by a new input"},
		{event.AbortLimit(event.LimitSteps, "12 steps"), "failed", "12 steps"},
		{event.Fail(&event.Failure{Message: "broken"}), "failed", "broken"},
	} {
		status, err := turnStatus(c.cause)
		if status != c.status || (err != nil) != (c.said != "") ||
			err != nil && !strings.Contains(err.Message, c.said) {
			t.Errorf("%v: %s, %+v", c.cause, status, err)
		}
	}
}

// TestCompaction: clients have a place for it, and receive nothing else about it.
func TestCompaction(t *testing.T) {
	b := newEventLog(t)
	at := func(d event.Data) event.Event {
		return event.Event{Turn: "t000001", Attempt: "a000001", Item: "i000001", Data: d}
	}
	b.write(
		event.Event{
			Turn:    "t000001",
			Attempt: "a000001",
			Data:    event.AttemptStarted{Step: 1, N: 1, Purpose: event.Compaction},
		},
		at(event.ItemStarted{Type: event.Digest}),
		at(event.ItemDelta{Stream: event.Text, Text: "## Goal"}),
		at(event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Digest, Text: "## Goal"}}),
	)
	if len(b.all) > 0 {
		t.Errorf("of the summary, it says %q", b.all)
	}
	b.write(event.Event{Turn: "t000001", Attempt: "a000001", Data: event.AttemptEnded{Outcome: event.Completed}})
	b.all = nil
	b.write(event.Event{Turn: "t000001", Data: event.HistoryChanged{Change: event.ChangeShortened}},
		event.Event{Turn: "t000001", Data: event.HistoryChanged{Change: event.ChangeCompacted, Summary: "## Goal"}})
	var methods []string
	for _, line := range b.all {
		method, _, _ := strings.Cut(line, " ")
		methods = append(methods, method)
	}
	if diff := cmp.Diff([]string{"item/started", "item/completed", "thread/compacted"}, methods); diff != "" {
		t.Errorf("%s\n%q", diff, b.all)
	}
}
