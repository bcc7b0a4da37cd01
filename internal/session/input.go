package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/run"
)

// Receipt says where the log has an input.
type Receipt struct {
	Input string
	// Seq is the number of the event that accepted it; 0 if Again.
	Seq uint64
	// Again says that the id was accepted before; nothing was added.
	Duplicate bool
}

// ErrNoCommands refuses a command in a session that has nothing to run it with.
var ErrNoCommands = errors.New("this session has no tool that runs commands")

// ErrEmpty refuses an input that says nothing.
var ErrEmpty = errors.New("the input is empty")

const maxInputID = 128

// Submit accepts an input. When it returns without an error the input is
// durable and will be run, or held where that can be seen (C19); ctx bounds the
// call, not the turn. An interrupt before that of an input that is being expanded is
// the error, an [*event.Cause]; nothing was accepted then.
func (s *Session) Submit(ctx context.Context, in run.Input) (Receipt, error) {
	var expanded *expansion
	if in.Expand != nil && !in.Command {
		e, again, err := s.expand(ctx, &in)
		if err != nil || again {
			return Receipt{Input: in.ID, Duplicate: again}, err
		}
		expanded = e
	}
	r, err := s.submit(ctx, in, expanded)
	if err != nil && expanded != nil {
		s.forgetExpansion(ctx, expanded)
	}
	return r, err
}

// submit accepts an input that is known.
func (s *Session) submit(ctx context.Context, in run.Input, expanded *expansion) (Receipt, error) {
	in.Images = slices.Clone(in.Images)
	for n, i := range in.Images {
		in.Images[n].MediaType = mediaType(i)
	}
	if err := checkInput(in); err != nil {
		return Receipt{}, err
	}
	if in.Command {
		if s.config.Turn.Command == nil {
			return Receipt{}, ErrNoCommands
		}
		if in.Mode == event.Steer { // a request cannot wait for it
			in.Mode = event.Queue
		}
	}
	in.Text = s.config.Turn.Redact.String(in.Text) // C15: people paste
	if len(in.Schema) > 0 {
		in.Schema = json.RawMessage(s.config.Turn.Redact.String(string(in.Schema)))
	}
	type answer struct {
		receipt Receipt
		err     error
	}
	answers := make(chan answer, 1)
	err := s.do(ctx, func() {
		r, err := s.acceptExpanded(expanded, in)
		answers <- answer{r, err} // never blocks: one answer, room for one
	})
	if err != nil {
		return Receipt{}, err
	}
	// The actor has taken it: this waits for a disk to write.
	select {
	case a := <-answers:
		return a.receipt, a.err
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("cannot tell whether the input was accepted: %w", context.Cause(ctx))
	}
}

// check refuses what could not be sent. C6: once it is in the log, it is in
// every request.
func checkInput(in run.Input) error {
	if strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 {
		return ErrEmpty
	}
	if len(in.ID) > maxInputID {
		return fmt.Errorf("cannot accept an input whose id has %d bytes: %d are the most", len(in.ID), maxInputID)
	}
	for n, i := range in.Images {
		if !slices.Contains(mediaTypes(), i.MediaType) {
			return &ImageError{Number: n + 1, Name: i.Name, Type: i.MediaType}
		}
	}
	if in.Command && (len(in.Images) > 0 || len(in.Schema) > 0) {
		return errors.New("cannot accept a command with images or a schema")
	}
	if err := checkSchema(in.Schema); err != nil {
		return err
	}
	switch in.Mode {
	case "", event.Queue, event.Steer, event.Replace:
		return nil
	}
	return fmt.Errorf("cannot accept an input of mode %q: queue, steer and replace are known", in.Mode)
}

// checkSchema refuses what is no JSON Schema of the kind that providers take: an
// object.
func checkSchema(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fmt.Errorf("cannot accept a schema that is not a JSON object: %w", err)
	}
	if schema == nil {
		return errors.New("cannot accept a schema that is not a JSON object: it is null")
	}
	return nil
}

// ImageError refuses an image that no provider would take.
type ImageError struct {
	Number int // from 1
	Name   string
	Type   string // what its data is; empty if there is none
}

func (e *ImageError) Error() string {
	what := "it is empty"
	if e.Type != "" {
		what = fmt.Sprintf("its data is %s; %s are known", e.Type, strings.Join(mediaTypes(), ", "))
	}
	return fmt.Sprintf("cannot accept image %d (%q): %s", e.Number, e.Name, what)
}

// mediaType returns what the image's data is. What a client says of it may come
// from a file's name, and providers refuse every request with an image that is
// something else.
func mediaType(i event.Image) string {
	if len(i.Data) == 0 {
		return ""
	}
	return http.DetectContentType(i.Data)
}

// mediaTypes are the types of images that every provider takes.
func mediaTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// accept writes the input down and starts what there is to start.
func (s *Session) accept(in run.Input) (Receipt, error) {
	if len(s.closing) > 0 {
		return Receipt{}, ErrClosed
	}
	if err := s.reopen(); err != nil {
		return Receipt{}, fmt.Errorf("cannot accept the input: %w", err)
	}
	var r Receipt
	err := update(s.log(), func(state event.State) []event.Event {
		r = Receipt{Input: in.ID, Seq: state.Seq + 1}
		if r.Input == "" {
			r.Input = freshInput(state)
		}
		if state.Accepted(r.Input) {
			r.Seq, r.Duplicate = 0, true
			return nil
		}
		return []event.Event{{By: in.By, Data: event.InputAccepted{Input: r.Input, Text: in.Text, Images: in.Images, Mode: in.Mode, Schema: in.Schema, Command: in.Command}}}
	})
	if err != nil {
		s.unwrittenInputs = append(s.unwrittenInputs, r.Input)
		return Receipt{}, fmt.Errorf("cannot accept the input: %w", err)
	}
	if r.Duplicate {
		return r, nil
	}
	if in.Mode == event.Replace && s.running != nil {
		s.cancelTurn(event.Abort(event.Replaced, in.By), "")
	}
	s.startNext()
	s.serveEarlyInterrupts(r.Input)
	return r, nil
}

// reopen has a log that has failed try again, unless a turn still runs that is
// being ended for it.
func (s *Session) reopen() error {
	if err := s.log().Err(); err == nil || s.running != nil {
		return err
	}
	if err := s.log().Reopen(); err != nil {
		return err
	}
	refused := s.unwrittenInputs
	s.unwrittenInputs = nil
	return s.log().Update(func(state event.State) (out []event.Event) {
		for _, i := range state.Waiting { // whoever sent it was told that it was not accepted
			if slices.Contains(refused, i.ID) {
				out = append(out, event.Event{By: "host", Data: event.InputDropped{Input: i.ID}})
			}
		}
		return out
	})
}

// freshInput returns an id that no client took.
func freshInput(s event.State) string {
	id := s.NextInput()
	for s.Accepted(id) {
		id += "x"
	}
	return id
}

// Drop takes an input back that waits, and reports whether it did. In a session
// that is closed it is [ErrClosed].
func (s *Session) Drop(input, by string) (dropped bool, err error) {
	err = update(s.log(), func(state event.State) []event.Event {
		for _, i := range state.Waiting {
			if i.ID == input {
				dropped = true
				return []event.Event{{By: by, Data: event.InputDropped{Input: input}}}
			}
		}
		return nil
	})
	return dropped, err
}

// next chooses the inputs of the next turn: the first that waits, a replacing
// one before all others, and with it everything that is held. A command runs
// alone: what is held is for the model.
func nextInputs(state event.State) []string {
	var held []string
	first, replaces := event.Input{}, false
	for _, i := range state.Waiting {
		switch {
		case i.Held:
			held = append(held, i.ID)
		case first.ID == "" || i.Mode == event.Replace && !replaces:
			first, replaces = i, i.Mode == event.Replace
		}
	}
	switch {
	case first.ID == "":
		return nil
	case first.Command:
		return []string{first.ID}
	}
	return append(held, first.ID)
}
