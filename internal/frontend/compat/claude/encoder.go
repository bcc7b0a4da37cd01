package claude

import (
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// encoder turns the events of a session into messages for the client. It belongs to the goroutine
// that reads the events.
type encoder struct {
	session, dir     string
	out              lines
	partial, replays bool
	// states reports that the client wants messages about the state of the session.
	states bool
	// head makes the message that begins a turn, waiting returns the number of prompts that wait
	// behind it, and window is the model's window, in tokens.
	head    func(model string) notice
	waiting func() int
	window  *atomic.Int64
	// schema reports that answers are to follow one.
	schema bool

	log     *transcript.Transcript
	sent    map[string]*sentItem // by item, of the running turn
	dropped []string             // messages that a later one replaces
	// below, if set, follows the child agents; parent is nil but for the encoder of one.
	below    *below
	parent   *parent
	stream   stream
	usage    map[string]modelUsage
	results  int
	isLinked bool // the turn's first message has named the input that it answers
}

// sentItem records the messages about an item that the client has received.
type sentItem struct {
	uuids  []string
	ended  bool // with its result, where it is a call
	opened bool // as the message that the model sent
}

// take sends the messages for an event.
func (t *encoder) take(e event.Event) error {
	changes, err := t.log.Take(e)
	if err != nil {
		return err
	}
	for _, c := range changes {
		t.change(c)
		if t.partial {
			t.streamed(c)
		}
	}
	return nil
}

func (t *encoder) change(c transcript.Change) {
	if t.parent != nil {
		t.childChanged(c)
		return
	}
	switch c.Thing {
	case transcript.Input:
		if d, ok := c.Event.Data.(event.InputAccepted); ok {
			t.accepted(d)
		}
	case transcript.Turn:
		t.turn(c)
	case transcript.Attempt:
		if d, ok := c.Event.Data.(event.AttemptEnded); ok {
			t.retried(d)
		}
	case transcript.Item:
		t.itemChanged(c)
	case transcript.Approval:
		t.approval(c)
	case transcript.Job:
		t.job(c)
	case transcript.Child:
		t.child(c)
	}
}

// turn begins or ends a turn.
func (t *encoder) turn(c transcript.Change) {
	switch c.What {
	case transcript.Started:
		t.sent, t.dropped, t.isLinked = map[string]*sentItem{}, nil, false
		t.out.send(t.head(c.Turn.Start.Model))
		t.running("running")
	case transcript.Ended:
		t.ended(c.Turn)
	default:
		t.compacted(c)
	}
}

func (t *encoder) notice(subtype string, more map[string]any) {
	t.out.send(newNotice(t.session, subtype, more))
}

// running reports the state of the session to an SDK that closes standard input when the session is
// idle. The SDK does not pass it to its users.
func (t *encoder) running(state string) {
	if t.states {
		t.notice("session_state_changed", map[string]any{"state": state, "sdk_host_only": true})
	}
}

// accepted sends a copy of an accepted input.
func (t *encoder) accepted(d event.InputAccepted) {
	if !t.replays {
		return
	}
	m := chatMessage{header: newHeader(t.session, "user", ""), Replay: true}
	if id := clientUUID(d.Input); id != "" {
		m.UUID = id
	}
	blocks := []block{textBlock(d.Text)}
	for _, i := range d.Images {
		blocks = append(blocks, block{Type: "image", Source: &source{"base64", i.MediaType, i.Data}})
	}
	for _, document := range d.Documents {
		blocks = append(blocks, block{Type: "document", Source: &source{"base64", document.MediaType, document.Data}})
	}
	m.Message = userMessage{"user", blocks}
	t.out.send(m)
}

// compacted sends a message at the position where the history was compacted.
func (t *encoder) compacted(c transcript.Change) {
	d, ok := c.Event.Data.(event.HistoryChanged)
	if !ok || d.Change != event.ChangeCompacted {
		return
	}
	trigger := "auto"
	if d.Trigger == event.TriggerRequest {
		trigger = "manual"
	}
	t.notice(
		"compact_boundary",
		map[string]any{
			"compact_metadata": map[string]any{"trigger": trigger, "pre_tokens": d.Before, "post_tokens": d.Tokens},
		},
	)
}

// itemChanged sends an item when no retry can remove it, and the result of a call that the
// client knows. If a retry repeats an item, the first one is retracted.
func (t *encoder) itemChanged(c transcript.Change) {
	i := c.Item
	switch known := t.sent[i.ID]; c.What {
	case transcript.Committed:
		if !i.Discarded {
			t.item(c.Turn, i)
		}
	case transcript.Discarded:
		if known != nil {
			t.dropped = append(t.dropped, known.uuids...)
		}
	case transcript.Grew:
		if text := c.Notice(); text != "" {
			t.notice("informational", map[string]any{"content": "settle: " + text, "level": "warning"})
		}
	case transcript.Ended:
		switch {
		case i.Type() == event.Note:
			t.notice("informational", map[string]any{"content": i.Content().Text, "level": "info"})
		case i.Type() == event.ToolCall && known != nil:
			t.item(c.Turn, i)
		}
	}
}

// approval sends the items up to a call that needs an approval, although a retry can
// still remove them; or the denial of a policy that asked no person.
func (t *encoder) approval(c transcript.Change) {
	if c.What == transcript.Started {
		t.upTo(c.Turn, c.Item)
		t.running("requires_action")
		return
	}
	t.running("running")
	if d := c.Approval.Ended; c.Item != nil && d.Verdict == event.Denied && d.Policy != "" {
		t.notice("permission_denied", map[string]any{
			"tool_name": aliasOf(c.Item.Content().Name).claude, "tool_use_id": callID(c.Item),
			"decision_reason_type": "mode", "decision_reason": d.Policy, "message": d.Message,
		})
	}
}

// upTo sends the model's output up to a call.
func (t *encoder) upTo(turn *event.Turn, call *event.Item) {
	if turn == nil || call == nil { // of a child in the background, whose call is over
		return
	}
	for _, i := range turn.Items {
		if i.Attempt == call.Attempt {
			t.item(turn, i)
		}
		if i == call {
			return
		}
	}
}

// retried reports that the model is asked again.
func (t *encoder) retried(d event.AttemptEnded) {
	if d.RetryIn != nil && d.Failure != nil {
		t.notice("api_retry", map[string]any{
			"attempt": d.Failure.Attempt, "max_retries": d.Failure.RetryLimit, "retry_delay_ms": *d.RetryIn,
			"error_status": statusOf(d.Failure), "error": faultOf(d.Failure), "message": d.Failure.Message,
		})
	}
}

// item sends the unsent part of an item.
func (t *encoder) item(turn *event.Turn, i *event.Item) {
	was := t.sent[i.ID]
	if was == nil {
		was = &sentItem{}
	}
	ended := i.Status != event.ItemOpen
	if !was.opened {
		b, ok := t.block(i, ended)
		if !ok {
			return
		}
		t.sent[i.ID], was.opened = was, true
		m := chatMessage{
			header:  newHeader(t.session, "assistant", ""),
			parent:  t.from(),
			Aborted: ended && i.Status == event.ItemAborted && i.Type() != event.ToolCall,
		}
		m.Message = t.message(turn, i.Attempt, b)
		m.Supersedes, t.dropped = t.dropped, nil
		if t.parent == nil && !t.isLinked && len(turn.Inputs) > 0 {
			m.UserUUID, t.isLinked = clientUUID(turn.Inputs[len(turn.Inputs)-1].ID), true
		}
		was.uuids = append(was.uuids, m.UUID)
		t.out.send(m)
	}
	if ended && !was.ended && i.Type() == event.ToolCall {
		was.ended = true
		t.below.await(i)
		m := t.resultOf(i)
		was.uuids = append(was.uuids, m.UUID)
		t.out.send(m)
	}
}

// block returns the content block of an item, and whether the item is complete enough to be sent.
func (t *encoder) block(i *event.Item, ended bool) (block, bool) {
	c := i.Content()
	if t.parent != nil && !t.parent.full && c.Type != event.ToolCall {
		return block{}, false
	}
	switch c.Type {
	case event.Message:
		return textBlock(c.Text), ended && c.Text != ""
	case event.Reasoning:
		return thinking(c), ended
	case event.ToolCall:
		a, arguments := known(c.Name, c.Arguments)
		return block{Type: "tool_use", ID: callID(i), Name: a.claude, Input: a.input(arguments, t.dir)}, i.Ready
	}
	return block{}, false
}

func thinking(c event.Content) block {
	if c.Signature != nil && c.Signature.Format == "redacted" {
		return block{Type: "redacted_thinking", Data: c.Signature.Data}
	}
	signature := ""
	if c.Signature != nil && c.Signature.Format == "signature" {
		signature = c.Signature.Data
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
func (t *encoder) message(turn *event.Turn, attempt string, b block) apiMessage {
	m := apiMessage{
		userMessage: userMessage{
			"assistant",
			[]block{b},
		},
		ID:    t.messageID(attempt),
		Type:  "message",
		Model: turn.Start.Model,
		Usage: usageOf(event.Usage{}),
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
func (t *encoder) messageID(attempt string) string {
	id := "msg_" + strings.ReplaceAll(t.session, "-", "") + "_"
	if t.parent != nil {
		id += t.parent.Agent + "_"
	}
	return id + attempt
}

// resultOf returns the message with the result of a call.
func (t *encoder) resultOf(i *event.Item) chatMessage {
	c := i.Content()
	output, failed := c.Output, i.Status != event.ItemCompleted
	if i.Status == event.ItemAborted {
		end := "The call was ended"
		if i.Cause != nil {
			end += ": " + i.Cause.Error()
		}
		output = strings.TrimSpace(output + "\n" + end + "; effects: " + string(i.Effects))
	}
	m := chatMessage{header: newHeader(t.session, "user", ""), parent: t.from(), Result: t.detailOf(i, output)}
	m.Message = userMessage{"user", []block{{Type: "tool_result", Call: callID(i), Content: &output, IsError: &failed}}}
	return m
}

// detailOf is the result of a call in the shape that Claude's tool has, where
// clients know one.
func (t *encoder) detailOf(i *event.Item, output string) any {
	a := aliasOf(i.Content().Name)
	in := a.input(i.Content().RanWith(), t.dir)
	if i.Status != event.ItemCompleted && a.settle != "shell" {
		return "Error: " + output
	}
	switch a.settle {
	case "shell":
		return map[string]any{
			"stdout":      output,
			"stderr":      "",
			"interrupted": i.Status == event.ItemAborted,
			"isImage":     false,
		}
	case "edit":
		return map[string]any{
			"filePath":        in["file_path"],
			"oldString":       in["old_string"],
			"newString":       in["new_string"],
			"replaceAll":      in["replace_all"] == true,
			"userModified":    i.Edited,
			"structuredPatch": []any{},
			"originalFile":    nil,
		}
	case "write":
		return map[string]any{
			"filePath":        in["file_path"],
			"content":         in["content"],
			"structuredPatch": []any{},
			"originalFile":    nil,
		}
	}
	return output
}

// job reports a process that outlives its call.
func (t *encoder) job(c transcript.Change) {
	if c.What == transcript.Started {
		more := map[string]any{"task_id": c.Job.Job, "description": c.Job.Command, "task_type": "local_bash"}
		if c.Item != nil {
			more["tool_use_id"] = callID(c.Item)
		}
		t.notice("task_started", more)
		return
	}
	d, status := c.Job.Ended, "stopped"
	if d.How == event.JobExited {
		status = "completed"
		if d.ExitCode != nil && *d.ExitCode != 0 {
			status = "failed"
		}
	}
	t.notice(
		"task_notification",
		map[string]any{"task_id": d.Job, "status": status, "output_file": c.Job.Log, "summary": string(d.How)},
	)
}

// clientUUID is the client's own id of an input, if it has one.
func clientUUID(input string) string {
	if uuid.Validate(input) != nil {
		return ""
	}
	return input
}
