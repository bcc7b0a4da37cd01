package atif

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// Of returns a session's trajectory. Its children's are of the states that load gives
// for their sessions; load may be nil, and one that cannot be loaded is left out and
// named in the notes.
func Of(s event.State, load func(session string) (event.State, error)) Trajectory {
	doc := Trajectory{
		SchemaVersion: Version, SessionID: s.Session, TrajectoryID: s.Session,
		Agent: Agent{Name: "settle", Version: s.Host.Settle},
	}
	if doc.Agent.Version == "" {
		doc.Agent.Version = "unknown"
	}
	w := writer{doc: &doc}
	for _, t := range s.Turns {
		w.turn(t)
	}
	for n := range s.Waiting {
		w.input(&s.Waiting[n])
	}
	doc.FinalMetrics = final(s, len(doc.Steps))
	var missing []string
	for _, c := range s.Children {
		if load == nil {
			break
		}
		child, err := load(c.Session)
		if err != nil {
			missing = append(missing, c.Session+" ("+err.Error()+")")
			continue
		}
		doc.Children = append(doc.Children, Of(child, load))
	}
	if len(missing) > 0 {
		doc.Note("not here: child agents " + strings.Join(missing, ", "))
	}
	return doc
}

// Note adds a line to the notes.
func (t *Trajectory) Note(line string) {
	if t.Notes != "" {
		t.Notes += "\n"
	}
	t.Notes += line
}

func final(s event.State, steps int) FinalMetrics {
	sum := transcript.Total(s)
	f := FinalMetrics{Prompt: sum.Usage.Input, Completion: sum.Usage.Output, Cached: sum.Usage.CacheRead, Steps: steps}
	f.Extra = Sums{Requests: sum.Attempts, Outcome: "none"}
	if sum.Unpriced == 0 {
		f.Cost = &sum.Cost
	}
	if len(s.Turns) == 0 {
		return f
	}
	for _, t := range s.Turns {
		for _, i := range t.Items {
			if i.Started {
				f.Extra.Calls++
			}
		}
	}
	f.Extra.Outcome = "running"
	if last := s.Turns[len(s.Turns)-1]; last.Cause != nil {
		f.Extra.Outcome, f.Extra.Cause = string(last.Cause.Outcome), ended(last)
	}
	return f
}

// ended describes the ending of a turn that did not complete.
func ended(t *event.Turn) string {
	if t.Cause == nil || t.Cause.Outcome == event.Completed {
		return ""
	}
	return t.Cause.Error()
}

// writer adds the steps of turns to a document.
type writer struct {
	doc *Trajectory
	// attempt is the attempt of the last step, where that is the agent's.
	attempt string
}

// add adds a step, which stays in place until the next is added.
func (w *writer) add(source string, at time.Time, message string) *Step {
	s := Step{ID: len(w.doc.Steps) + 1, Source: source, Message: message}
	if !at.IsZero() {
		at = at.UTC()
		s.Timestamp = &at
	}
	w.doc.Steps = append(w.doc.Steps, s)
	w.attempt = ""
	return &w.doc.Steps[s.ID-1]
}

func (w *writer) input(in *event.Input) {
	text := in.Text
	for range in.Images {
		text = paragraph(text, "[image, which the session's events have]")
	}
	for range in.Documents {
		text = paragraph(text, "[PDF, which the session's events have]")
	}
	source := fromUser
	if in.By == event.Resumer { // settle's own words
		source = fromSystem
	}
	w.add(source, in.At, text)
}

func (w *writer) turn(t *event.Turn) {
	if t.Start.Model != "" {
		w.doc.Agent.ModelName = t.Start.Model
	}
	first := len(w.doc.Steps)
	for e := range transcript.Entries(t) {
		if e.Input != nil {
			w.input(e.Input)
		} else {
			w.item(t, e.Item)
		}
	}
	if how := ended(t); how != "" && len(w.doc.Steps) > first {
		last := &w.doc.Steps[len(w.doc.Steps)-1]
		if last.Extra == nil {
			last.Extra = &StepExtra{}
		}
		last.Extra.Ended, last.Extra.Cause = how, t.Cause
	}
	w.attempt = ""
}

func (w *writer) item(t *event.Turn, i *event.Item) {
	c := i.Content()
	if i.Attempt == "" {
		if c.Text != "" {
			w.add(fromSystem, i.BegunAt, c.Text)
		}
		return
	}
	step := w.step(t, i)
	switch c.Type {
	case event.Message, event.Digest:
		step.Message = paragraph(step.Message, c.Text)
	case event.Reasoning:
		step.Reasoning = paragraph(step.Reasoning, c.Text)
	case event.ToolCall:
		step.call(i, c)
	}
}

// step returns the step of an item's attempt.
func (w *writer) step(t *event.Turn, i *event.Item) *Step {
	if w.attempt == i.Attempt {
		return &w.doc.Steps[len(w.doc.Steps)-1]
	}
	s := w.add(fromAgent, i.BegunAt, "")
	w.attempt = i.Attempt
	s.Effort = t.Start.Effort
	for _, a := range t.Attempts {
		if a.ID != i.Attempt {
			continue
		}
		s.ModelName = a.Start.Model
		if a.End == nil {
			continue
		}
		s.Metrics = &Metrics{
			Prompt: a.End.Usage.Input, Completion: a.End.Usage.Output, Cached: a.End.Usage.CacheRead,
			Cost: a.End.Cost,
		}
		if k := a.End.Tokens; k != nil && !k.Incomplete {
			s.Metrics.PromptIDs, s.Metrics.CompletionIDs, s.Metrics.Logprobs = k.Prompt, k.Completion, k.Logprobs
		}
		if a.End.Outcome != event.Completed {
			s.Extra = &StepExtra{Outcome: string(a.End.Outcome)}
			if a.End.Failure != nil {
				s.Extra.Error = a.End.Failure.Message
			}
		}
	}
	return s
}

// call adds a call to a step.
func (s *Step) call(i *event.Item, c event.Content) {
	var arguments map[string]any
	if err := json.Unmarshal([]byte(c.Arguments), &arguments); err != nil || arguments == nil {
		arguments = map[string]any{}
		if c.Arguments != "" {
			arguments["input"] = c.Arguments // the model did not write an object
		}
	}
	s.ToolCalls = append(s.ToolCalls, ToolCall{ID: i.ID, Name: c.Name, Arguments: arguments})
	if i.Status == event.ItemOpen {
		return
	}
	if s.Observation == nil {
		s.Observation = &Observation{}
	}
	s.Observation.Results = append(s.Observation.Results, Result{Call: i.ID, Content: c.Output})
	if extra, needed := extraOf(i, c); needed {
		if s.Extra == nil {
			s.Extra = &StepExtra{}
		}
		if s.Extra.Calls == nil {
			s.Extra.Calls = map[string]CallExtra{}
		}
		s.Extra.Calls[i.ID] = extra
	}
}

// extraOf returns the parts of a call for which the format has no field; false for a call of the
// model that succeeded.
func extraOf(i *event.Item, c event.Content) (extra CallExtra, needed bool) {
	extra = CallExtra{
		Status: string(i.Status), Effects: string(i.Effects), ExitCode: c.ExitCode, Cause: i.Cause, Ran: c.Effective,
	}
	switch {
	case c.Effective == "":
	case i.Edited:
		extra.ChangedBy = "user"
	default:
		extra.ChangedBy = "hook"
	}
	return extra, c.Effective != "" || i.Status != event.ItemCompleted || c.ExitCode != nil && *c.ExitCode != 0
}

func paragraph(text, more string) string {
	if text == "" {
		return more
	}
	return text + "\n\n" + more
}
