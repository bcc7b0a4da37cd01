package atif

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
)

// document is a trajectory of any agent, as far as a session takes it over.
type document struct {
	SchemaVersion string `json:"schema_version"`
	Agent         Agent  `json:"agent"`
	Steps         []struct {
		Timestamp   string `json:"timestamp"`
		Source      string `json:"source"`
		Message     text   `json:"message"`
		ModelName   string `json:"model_name"`
		Reasoning   string `json:"reasoning_content"`
		ToolCalls   []call `json:"tool_calls"`
		Observation struct {
			Results []result `json:"results"`
		} `json:"observation"`
		Extra json.RawMessage `json:"extra"`
	} `json:"steps"`
}

type call struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

type result struct {
	Call    string `json:"source_call_id"`
	Content text   `json:"content"`
}

// text is a text, or a list of parts; parts without text are only named.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(raw []byte) error {
	var plain *string
	if err := json.Unmarshal(raw, &plain); err == nil {
		if plain != nil {
			*t = text(*plain)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return errors.New("a message or a result is neither a text nor a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			p.Text = "[" + p.Type + " that was not imported]"
		}
		*t = text(paragraph(string(*t), p.Text))
	}
	return nil
}

const (
	importer = "import" // the actor of imported events
	// noPrompt replaces the prompt of a trajectory that begins with an agent step.
	noPrompt = "(The trajectory does not say what the agent was asked.)"
)

// Events converts a trajectory to the log of a session, with the trajectory's times. The
// log has no usage and no cost, because this session did not cause them. A call without a
// result is aborted, with unknown effects. Steps of child agents are left out.
func Events(raw []byte, session string, opened event.SessionOpened, now time.Time) ([]event.Event, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("it is no trajectory: %w", err)
	}
	if !strings.HasPrefix(doc.SchemaVersion, "ATIF-v1.") {
		return nil, fmt.Errorf("its schema_version is %q; settle reads ATIF-v1", doc.SchemaVersion)
	}
	if len(doc.Steps) == 0 {
		return nil, errors.New("it has no steps")
	}
	r := &reader{session: session, at: now, model: doc.Agent.ModelName}
	if at, err := time.Parse(time.RFC3339, doc.Steps[0].Timestamp); err == nil {
		r.at = at
	}
	opened.Frontend = importer
	r.add(event.Event{Data: opened})
	for n, s := range doc.Steps {
		if at, err := time.Parse(time.RFC3339, s.Timestamp); err == nil && at.After(r.at) {
			r.at = at
		}
		var extra StepExtra
		_ = json.Unmarshal(s.Extra, &extra) // another agent's has other fields
		switch s.Source {
		case fromUser:
			r.user(string(s.Message))
		case fromSystem:
			r.note(string(s.Message))
			for _, res := range s.Observation.Results {
				r.note(string(res.Content))
			}
		case fromAgent:
			if s.ModelName != "" {
				r.model = s.ModelName
			}
			r.agent(
				response{
					string(s.Message),
					s.Reasoning,
					s.ToolCalls,
					s.Observation.Results,
					extra,
					n == len(doc.Steps)-1,
				},
			)
		default:
			return nil, fmt.Errorf("step %d: its source is %q; it has to be user, agent or system", n+1, s.Source)
		}
		if extra.Ended != "" {
			if len(r.state.Waiting) > 0 {
				r.turn()
			}
			r.end(cause(extra.Cause, extra.Ended))
		}
	}
	r.end(event.Complete())
	if len(r.notes) > 0 {
		r.user(strings.Join(r.notes, "\n\n"))
	}
	for _, in := range r.state.Waiting { // C19: the next input takes it along
		r.add(event.Event{By: importer, Data: event.InputHeld{Input: in.ID}})
	}
	r.add(event.Event{By: importer, Data: event.SessionClosed{Reason: event.Shutdown}})
	return r.events, r.err
}

// reader makes the events of a session.
type reader struct {
	session, model string
	at             time.Time
	state          event.State
	events         []event.Event
	notes          []string // of no turn yet
	err            error
}

// add adds an event; the first one that cannot follow is the reader's error.
func (r *reader) add(events ...event.Event) {
	for _, e := range events {
		if r.err != nil {
			return
		}
		e.V, e.Session, e.Seq, e.At = event.Version, r.session, r.state.Seq+1, r.at
		if r.state, r.err = event.Fold(r.state, e); r.err == nil {
			r.events = append(r.events, e)
		}
	}
}

// user has an input wait for a turn. The turn before has ended.
func (r *reader) user(message string) {
	r.end(event.Complete())
	r.add(event.Event{By: importer, Data: event.InputAccepted{Input: r.state.NextInput(), Text: message}})
}

// turn returns the running turn; one is started if there is none.
func (r *reader) turn() string {
	if t := r.state.Running(); t != nil {
		return t.ID
	}
	if len(r.state.Waiting) == 0 {
		r.user(noPrompt)
	}
	start := event.TurnStarted{Provider: importer, Model: r.model}
	for _, in := range r.state.Waiting {
		start.Inputs = append(start.Inputs, in.ID)
	}
	id := r.state.NextTurn()
	r.add(event.Event{Turn: id, By: importer, Data: start})
	for _, message := range r.notes {
		r.item(id, "", event.Content{Type: event.Note, Text: message})
	}
	r.notes = nil
	return id
}

// end ends the turn, if one runs.
func (r *reader) end(c *event.Cause) { r.add(event.Endings(r.state, c)...) }

// item adds an item that is whole.
func (r *reader) item(turn, attempt string, c event.Content) {
	id := r.state.NextItem(0)
	r.add(
		event.Event{Turn: turn, Attempt: attempt, Item: id, Data: event.ItemStarted{Type: c.Type}},
		event.Event{
			Turn:    turn,
			Attempt: attempt,
			Item:    id,
			Data:    event.ItemEnded{Status: event.ItemCompleted, Content: c},
		},
	)
}

// note adds a message that is neither a person's nor a model's to the turn, or to the next
// one.
func (r *reader) note(message string) {
	t := r.state.Running()
	switch {
	case message == "":
	case t == nil:
		r.notes = append(r.notes, message)
	default:
		r.item(t.ID, "", event.Content{Type: event.Note, Text: message})
	}
}

// response is a step of the agent.
type response struct {
	message, reasoning string
	calls              []call
	results            []result
	extra              StepExtra
	last               bool // of the trajectory
}

// cut reports whether it did not complete, and its turn ended with it.
func (s response) cut() bool {
	return s.extra.Ended != "" && len(s.calls) == 0 && s.extra.Outcome != "" &&
		s.extra.Outcome != string(event.Completed)
}

// agent adds a response of a model, with its calls.
func (r *reader) agent(s response) {
	turn, attempt := r.turn(), r.state.NextAttempt()
	if r.err != nil {
		return
	}
	step := len(r.state.Running().Attempts) + 1
	r.add(
		event.Event{
			Turn: turn, Attempt: attempt,
			Data: event.AttemptStarted{Step: step, N: 1, Provider: importer, Model: r.model},
		},
	)
	for _, c := range []event.Content{{Type: event.Reasoning, Text: s.reasoning}, {Type: event.Message, Text: s.message}} {
		switch c.Provider, c.Model = importer, r.model; {
		case c.Text == "":
		case s.cut(): // the turn's end is the item's
			id := r.state.NextItem(0)
			r.add(
				event.Event{Turn: turn, Attempt: attempt, Item: id, Data: event.ItemStarted{Type: c.Type}},
				event.Event{
					Turn:    turn,
					Attempt: attempt,
					Item:    id,
					Data:    event.ItemDelta{Stream: event.Text, Text: c.Text},
				},
			)
		default:
			r.item(turn, attempt, c)
		}
	}
	if s.cut() {
		return
	}
	started := r.calls(turn, attempt, s)
	stop := "end_turn"
	if len(s.calls) > 0 {
		stop = "tool_use"
	}
	r.add(
		event.Event{Turn: turn, Attempt: attempt, Data: event.AttemptEnded{Outcome: event.Completed, StopReason: stop}},
	)
	if r.results(turn, started, s) {
		r.end(nothing("the trajectory ends here"))
	}
}

// nothing is the cause of an ending that the trajectory does not have.
func nothing(message string) *event.Cause {
	c := event.Abort(event.Shutdown, importer)
	c.Message = message
	return c
}

// cause returns the ending that a trajectory records, or a cause with the given words. It
// is never a crash: the log is complete.
func cause(c *event.Cause, words string) *event.Cause {
	known := []event.Reason{
		event.Interrupted, event.Replaced, event.Shutdown, event.LimitReached, event.Parent, event.MachineLost,
		event.TimedOut,
	}
	switch {
	case c == nil:
	case c.Outcome == event.Failed && c.Failure != nil && c.Failure.Name != "" && c.Failure.Message != "":
		return event.Fail(&event.Failure{Name: c.Failure.Name, Message: c.Failure.Message})
	case c.Outcome == event.Aborted && slices.Contains(known, c.Reason) &&
		(c.Reason == event.LimitReached) == (c.Limit != ""):
		return &event.Cause{Outcome: c.Outcome, Reason: c.Reason, Limit: c.Limit, By: c.By, Message: c.Message}
	}
	return nothing("the trajectory says: " + words)
}

// started is a call, which has started unless it is known that it had no effects.
type started struct {
	call
	item    string
	content event.Content
}

func (r *reader) calls(turn, attempt string, s response) (all []*started) {
	for _, c := range s.calls {
		id := r.state.NextItem(0)
		arguments := string(c.Arguments)
		if arguments == "" || arguments == "null" {
			arguments = "{}"
		}
		content := event.Content{
			Type: event.ToolCall, Provider: importer, Model: r.model, CallID: "call_" + id, Name: c.Name,
			Arguments: arguments,
		}
		r.add(
			event.Event{
				Turn: turn, Attempt: attempt, Item: id,
				Data: event.ItemStarted{Type: event.ToolCall, CallID: content.CallID, Name: c.Name},
			},
			event.Event{
				Turn: turn, Attempt: attempt, Item: id,
				Data: event.CallReady{Name: c.Name, CallID: content.CallID, Arguments: arguments},
			},
		)
		if known := s.extra.Calls[c.ID]; known.Status != string(event.ItemAborted) ||
			known.Effects != string(event.EffectsNone) {
			r.add(event.Event{Turn: turn, Attempt: attempt, Item: id, Data: event.CallStarted{}})
		}
		all = append(all, &started{c, id, content})
	}
	return all
}

// results ends the calls with their results. A result without a call ID belongs to the last
// call; without calls it becomes a note. Calls without a result stay open if the trajectory
// ends there.
func (r *reader) results(turn string, calls []*started, s response) (open bool) {
	outputs := map[*started]string{}
	var others []string
	for _, res := range s.results {
		to := len(calls) - 1
		for n, c := range calls {
			if c.ID == res.Call {
				to = n
			}
		}
		if to < 0 {
			others = append(others, string(res.Content))
			continue
		}
		outputs[calls[to]] = paragraph(outputs[calls[to]], string(res.Content))
	}
	for _, c := range calls {
		output, has := outputs[c]
		if len(s.results) == 0 && s.last {
			open = true
			continue
		}
		known := s.extra.Calls[c.ID]
		if known.Ran != "" {
			output = paragraph("[This call was changed. It ran with these arguments: "+known.Ran+"]", output)
		}
		c.content.Output, c.content.ExitCode = output, known.ExitCode
		end := event.ItemEnded{Status: event.ItemCompleted, Content: c.content}
		switch {
		case known.Status == string(event.ItemAborted):
			end.Status, end.Effects, end.Cause = event.ItemAborted, event.EffectsUnknown, cause(
				known.Cause, "it was aborted",
			)
			if e := event.Effects(known.Effects); e == event.EffectsNone || e == event.EffectsPartial {
				end.Effects = e
			}
		case !has:
			end.Status, end.Effects, end.Cause = event.ItemAborted, event.EffectsUnknown, nothing(
				"the trajectory has no result of this call",
			)
		case known.Status != "" && known.Status != string(event.ItemCompleted):
			end.Status = event.ItemFailed
		}
		r.add(event.Event{Turn: turn, Item: c.item, Data: end})
	}
	for _, text := range others {
		r.note(text)
	}
	return open
}
