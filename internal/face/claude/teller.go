package claude

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
)

// teller tells the client what happens in a session: a fold from events to
// messages. It belongs to the goroutine that reads the events.
type teller struct {
	session, dir     string
	out              lines
	partial, replays bool
	// states says that the client wants to know when the session runs.
	states bool
	// head makes the message that begins a turn, behind is how many prompts wait
	// behind it, and window is how much the model can read.
	head           func(model string) initMessage
	behind, window *atomic.Int64
	// schema says that answers are to follow one.
	schema bool

	state   event.State
	told    map[string]*told // by item, of the running turn
	dropped []string         // messages that a later one stands for
	stream  stream
	usage   map[string]modelUsage
	results int
	greeted bool // the turn's first message says which input it answers
}

// told is what the client has been told of an item.
type told struct {
	uuids  []string
	ended  bool // with its result, where it is a call
	opened bool // as the message that the model sent
}

// tell tells one event.
func (t *teller) tell(e event.Event) error {
	state, err := event.Fold(t.state, e)
	if err != nil {
		return err
	}
	t.state = state
	switch d := e.Data.(type) {
	case event.InputAccepted:
		t.accepted(d)
	case event.TurnStarted:
		t.told, t.dropped, t.greeted = map[string]*told{}, nil, false
		t.out.send(t.head(d.Model))
		t.running("running")
	case event.CallStarted:
		t.upTo(e)
	case event.ApprovalRequested:
		t.upTo(e)
		t.running("requires_action")
	case event.ApprovalEnded:
		t.answered(e, d)
	case event.AttemptEnded:
		t.attemptEnded(e, d)
	case event.ItemEnded:
		t.itemEnded(e)
	case event.JobStarted:
		t.jobStarted(e, d)
	case event.JobEnded:
		t.jobEnded(d)
	}
	if t.partial {
		t.streamed(e)
	}
	if e.Terminal() {
		t.ended(t.state.Turn(e.Turn))
	}
	return nil
}

func (t *teller) notice(subtype string, more map[string]any) {
	t.out.send(newNotice(t.session, subtype, more))
}

// running says how the session is to an SDK that closes standard input when it
// is idle. Its users do not see it.
func (t *teller) running(state string) {
	if t.states {
		t.notice("session_state_changed", map[string]any{"state": state, "sdk_host_only": true})
	}
}

// accepted says an input back.
func (t *teller) accepted(d event.InputAccepted) {
	if !t.replays {
		return
	}
	m := spoken{header: newHeader(t.session, "user", ""), Replay: true}
	if id := clientUUID(d.Input); id != "" {
		m.UUID = id
	}
	m.Message = apiMessage{Role: "user", Content: []block{textBlock(d.Text)}}
	for _, i := range d.Images {
		m.Message.Content = append(m.Message.Content, block{Type: "image", Source: &source{"base64", i.MediaType, i.Data}})
	}
	t.out.send(m)
}

// upTo tells what the model has said up to a call that is about to run, or that
// somebody is asked about: before that, a failed attempt may take it back.
func (t *teller) upTo(e event.Event) {
	turn := t.state.Turn(e.Turn)
	for _, i := range turn.Items {
		if i.Attempt == e.Attempt {
			t.item(turn, i)
		}
		if i.ID == e.Item {
			return
		}
	}
}

// attemptEnded tells the rest of what the attempt said, and takes back what a
// later one will say anew.
func (t *teller) attemptEnded(e event.Event, d event.AttemptEnded) {
	turn := t.state.Turn(e.Turn)
	for _, i := range turn.Items {
		if i.Attempt != e.Attempt {
			continue
		}
		if !slices.Contains(d.Discarded, i.ID) {
			t.item(turn, i)
			continue
		}
		if was := t.told[i.ID]; was != nil {
			t.dropped = append(t.dropped, was.uuids...)
		}
	}
	if d.RetryIn != nil && d.Failure != nil {
		t.notice("api_retry", map[string]any{
			"attempt": d.Failure.Attempt, "max_retries": d.Failure.RetryLimit, "retry_delay_ms": *d.RetryIn,
			"error_status": statusOf(d.Failure), "error": faultOf(d.Failure), "message": d.Failure.Message,
		})
	}
}

// itemEnded tells the result of a call that the client knows of, and settle's
// own notes.
func (t *teller) itemEnded(e event.Event) {
	turn := t.state.Turn(e.Turn)
	i := turn.Item(e.Item)
	switch {
	case i.Type() == event.Note:
		t.notice("informational", map[string]any{"content": i.Content().Text, "level": "info"})
	case i.Type() == event.ToolCall && t.told[i.ID] != nil:
		t.item(turn, i)
	}
}

// item tells what there is of an item, as far as it was not told.
func (t *teller) item(turn *event.Turn, i *event.Item) {
	was := t.told[i.ID]
	if was == nil {
		was = &told{}
	}
	over := i.Status != event.ItemOpen
	if !was.opened {
		b, ok := t.block(i, over)
		if !ok {
			return
		}
		t.told[i.ID], was.opened = was, true
		m := spoken{header: newHeader(t.session, "assistant", ""), Aborted: over && i.Status == event.ItemAborted && i.Type() != event.ToolCall}
		m.Message = t.message(turn, i.Attempt, b)
		m.Supersedes, t.dropped = t.dropped, nil
		if !t.greeted && len(turn.Inputs) > 0 {
			m.UserUUID, t.greeted = clientUUID(turn.Inputs[len(turn.Inputs)-1].ID), true
		}
		was.uuids = append(was.uuids, m.UUID)
		t.out.send(m)
	}
	if over && !was.ended && i.Type() == event.ToolCall {
		was.ended = true
		m := t.resultOf(i)
		was.uuids = append(was.uuids, m.UUID)
		t.out.send(m)
	}
}

// block is what the model said, if it is complete enough.
func (t *teller) block(i *event.Item, over bool) (block, bool) {
	c := i.Content()
	switch c.Type {
	case event.Message:
		return textBlock(c.Text), over && c.Text != ""
	case event.Reasoning:
		return thinking(c), over
	case event.ToolCall:
		a := aliasOf(c.Name)
		return block{Type: "tool_use", ID: callID(i), Name: a.claude, Input: a.input(c.Arguments, t.dir)}, i.Ready
	}
	return block{}, false
}

func thinking(c event.Content) block {
	if c.Seal != nil && c.Seal.Format == "redacted" {
		return block{Type: "redacted_thinking", Data: c.Seal.Data}
	}
	signature := ""
	if c.Seal != nil && c.Seal.Format == "signature" {
		signature = c.Seal.Data
	}
	return block{Type: "thinking", Thinking: &c.Text, Signature: &signature}
}

// callID is the provider's id of a call.
func callID(i *event.Item) string {
	if id := i.Content().CallID; id != "" {
		return id
	}
	return i.ID
}

// message is a response of the model with one of its blocks.
func (t *teller) message(turn *event.Turn, attempt string, b block) apiMessage {
	m := apiMessage{
		ID: t.messageID(attempt), Type: "message", Role: "assistant", Model: turn.Start.Model, Content: []block{b}, Usage: usageOf(event.Usage{}),
	}
	for _, a := range turn.Attempts {
		if a.ID == attempt {
			m.Model = a.Start.Model
			if a.End != nil {
				m.Usage = usageOf(a.End.Usage)
			}
		}
	}
	return m
}

// messageID is the same for all blocks of a response. The provider's comes too
// late.
func (t *teller) messageID(attempt string) string {
	return "msg_" + strings.ReplaceAll(t.session, "-", "") + "_" + attempt
}

// resultOf is what a call has come to.
func (t *teller) resultOf(i *event.Item) spoken {
	c := i.Content()
	output, failed := c.Output, i.Status != event.ItemCompleted
	if i.Status == event.ItemAborted {
		end := "The call was ended"
		if i.Cause != nil {
			end += ": " + i.Cause.Error()
		}
		output = strings.TrimSpace(output + "\n" + end + "; effects: " + string(i.Effects))
	}
	m := spoken{header: newHeader(t.session, "user", ""), Result: t.detailOf(i, output)}
	m.Message = apiMessage{Role: "user", Content: []block{{Type: "tool_result", Call: callID(i), Content: &output, IsError: &failed}}}
	return m
}

// detailOf is the result of a call in the shape that Claude's tool has, where
// clients know one.
func (t *teller) detailOf(i *event.Item, output string) any {
	a := aliasOf(i.Content().Name)
	in := a.input(i.Content().Arguments, t.dir)
	if i.Status != event.ItemCompleted && a.settle != "shell" {
		return "Error: " + output
	}
	switch a.settle {
	case "shell":
		return map[string]any{"stdout": output, "stderr": "", "interrupted": i.Status == event.ItemAborted, "isImage": false}
	case "edit":
		return map[string]any{
			"filePath": in["file_path"], "oldString": in["old_string"], "newString": in["new_string"],
			"replaceAll": in["replace_all"] == true, "userModified": false, "structuredPatch": []any{}, "originalFile": nil,
		}
	case "write":
		return map[string]any{"filePath": in["file_path"], "content": in["content"], "structuredPatch": []any{}, "originalFile": nil}
	}
	return output
}

// answered tells a denial of a policy: nobody was asked.
func (t *teller) answered(e event.Event, d event.ApprovalEnded) {
	t.running("running")
	if d.Verdict != event.Denied || d.Policy == "" {
		return
	}
	i := t.state.Turn(e.Turn).Item(e.Item)
	t.notice("permission_denied", map[string]any{
		"tool_name": aliasOf(i.Content().Name).claude, "tool_use_id": callID(i),
		"decision_reason_type": "mode", "decision_reason": d.Policy, "message": d.Message,
	})
}

// jobStarted tells of a process that outlives its call.
func (t *teller) jobStarted(e event.Event, d event.JobStarted) {
	more := map[string]any{"task_id": d.Job, "description": d.Command, "task_type": "local_bash"}
	if turn := t.state.Turn(e.Turn); turn != nil {
		if i := turn.Item(e.Item); i != nil {
			more["tool_use_id"] = callID(i)
		}
	}
	t.notice("task_started", more)
}

func (t *teller) jobEnded(d event.JobEnded) {
	status := "stopped"
	if d.How == event.JobExited {
		status = "completed"
		if d.ExitCode != nil && *d.ExitCode != 0 {
			status = "failed"
		}
	}
	log := ""
	for _, j := range t.state.Jobs {
		if j.Job == d.Job {
			log = j.Log
		}
	}
	t.notice("task_notification", map[string]any{"task_id": d.Job, "status": status, "output_file": log, "summary": string(d.How)})
}

// clientUUID is the client's own id of an input, if it has one.
func clientUUID(input string) string {
	if uuid.Validate(input) != nil {
		return ""
	}
	return input
}
