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

// Receipt identifies an accepted input in the log.
type Receipt struct {
	Input string
	// Seq is the number of the event that accepted the input; 0 if Duplicate.
	Seq uint64
	// Duplicate means that the id was accepted before; nothing was added.
	Duplicate bool
}

// ErrNoCommands refuses a command in a session without a tool that runs commands.
var ErrNoCommands = errors.New("this session has no tool that runs commands")

// ErrEmpty refuses an input without text, images and documents.
var ErrEmpty = errors.New("the input is empty")

const maxInputID = 128

// Submit accepts an input. Without an error, the input is durable, and settle runs it or shows
// it as held (C19). ctx bounds the call, not the turn. If an interrupt or a close withdraws an
// input that is being prepared (expanded, or its documents read), the error is an
// [*event.Cause], and nothing is accepted.
func (s *Session) Submit(ctx context.Context, in run.Input) (Receipt, error) {
	if in.Command || in.HeldCall != nil || in.Expand == nil && len(in.Documents) == 0 {
		return s.submit(ctx, in, nil)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := &expansion{input: in.ID, cancel: cancel}
	if duplicate, err := s.expand(ctx, e, &in); err != nil || duplicate {
		return Receipt{Input: in.ID, Duplicate: duplicate}, err
	}
	r, err := s.submit(ctx, in, e)
	if err != nil {
		switch duplicate, cause := s.forgetExpansion(ctx, e); {
		case cause != nil && duplicate:
			return Receipt{Input: in.ID, Duplicate: true}, nil
		case cause != nil:
			return Receipt{}, fmt.Errorf("not sent: %w", cause)
		}
	}
	return r, err
}

// submit accepts an input whose text is final.
func (s *Session) submit(ctx context.Context, in run.Input, expanded *expansion) (Receipt, error) {
	in.Images = slices.Clone(in.Images)
	for n, i := range in.Images {
		in.Images[n].MediaType = mediaType(i)
	}
	if in.HeldCall != nil { // the log has the rest of it
		in = run.Input{ID: in.ID, HeldCall: in.HeldCall, Hold: in.Hold, Last: in.Last, By: in.By, Text: heldInput}
		if err := s.checkUnattended(in.HeldCall); err != nil {
			return Receipt{}, err
		}
	}
	if err := checkInput(in); err != nil {
		return Receipt{}, err
	}
	documents, err := ReadDocuments(ctx, in.Documents)
	if err != nil {
		return Receipt{}, err
	}
	in.Documents = documents
	for n := range documents {
		documents[n].Text = s.config.Turn.Redact.String(documents[n].Text)
	}
	if in.Command {
		if s.config.Turn.Command == nil {
			return Receipt{}, ErrNoCommands
		}
		if in.Mode == event.Steer { // a request cannot wait for a command
			in.Mode = event.Queue
		}
	}
	in.Text = s.config.Turn.Redact.String(in.Text) // C15: people paste secrets
	if len(in.Schema) > 0 {
		in.Schema = json.RawMessage(s.config.Turn.Redact.String(string(in.Schema)))
	}
	type answer struct {
		receipt Receipt
		err     error
	}
	answers := make(chan answer, 1)
	err = s.do(ctx, func() {
		r, err := s.acceptExpanded(expanded, in)
		answers <- answer{r, err} // never blocks: one answer, capacity 1
	})
	if err != nil {
		return Receipt{}, err
	}
	// The actor has the input and waits only for the disk.
	select {
	case a := <-answers:
		return a.receipt, a.err
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("cannot tell whether the input was accepted: %w", context.Cause(ctx))
	}
}

// checkInput refuses inputs that no provider accepts. C6: an accepted input is part of every
// later request.
func checkInput(in run.Input) error {
	if strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 && len(in.Documents) == 0 {
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
	if in.Command && (len(in.Images) > 0 || len(in.Documents) > 0 || len(in.Schema) > 0) {
		return errors.New("cannot accept a command with images, documents or a schema")
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

// checkSchema refuses a schema that is not a JSON object: providers accept no other.
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

// ImageError refuses an image that providers do not accept.
type ImageError struct {
	Number int // from 1
	Name   string
	Type   string // media type of the data; empty without data
}

func (e *ImageError) Error() string {
	what := "it is empty"
	if e.Type != "" {
		what = fmt.Sprintf("its data is %s; %s are known", e.Type, strings.Join(mediaTypes(), ", "))
	}
	return fmt.Sprintf("cannot accept image %d (%q): %s", e.Number, e.Name, what)
}

// mediaType returns the media type of the image's data. A client may derive its own type from
// a file name, and providers refuse every request with a wrong type.
func mediaType(i event.Image) string {
	if len(i.Data) == 0 {
		return ""
	}
	return http.DetectContentType(i.Data)
}

// mediaTypes returns the types of images that every provider accepts.
func mediaTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// accept records the input and starts a turn if none runs.
func (s *Session) accept(in run.Input) (Receipt, error) {
	if len(s.closing) > 0 {
		return Receipt{}, ErrClosed
	}
	if err := s.reopen(); err != nil {
		return Receipt{}, fmt.Errorf("cannot accept the input: %w", err)
	}
	var r Receipt
	var refused error
	err := update(s.log(), func(state event.State) []event.Event {
		r = Receipt{Input: in.ID, Seq: state.Seq + 1}
		if r.Input == "" {
			r.Input = freshInput(state)
		}
		if state.Accepted(r.Input) {
			r.Seq, r.Duplicate = 0, true
			return nil
		}
		if in.HeldCall != nil {
			var out []event.Event
			out, refused = s.heldVerdict(state, r.Input, in)
			// A verdict that replaces another one first drops that one's input.
			r.Seq += uint64(max(0, slices.IndexFunc(out, isAcceptance)))
			return out
		}
		return []event.Event{
			{
				By: in.By,
				Data: event.InputAccepted{
					Input: r.Input, Text: in.Text, Images: in.Images, Mode: in.Mode, Schema: in.Schema,
					Command: in.Command, Documents: in.Documents,
				},
			},
		}
	})
	if refused != nil {
		return Receipt{}, refused
	}
	if err != nil {
		s.unwrittenInputs = append(s.unwrittenInputs, r.Input)
		return Receipt{}, fmt.Errorf("cannot accept the input: %w", err)
	}
	if in.Last {
		s.lastInput = r.Input
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

func isAcceptance(e event.Event) bool {
	_, is := e.Data.(event.InputAccepted)
	return is
}

// reopen reopens a log that has failed, unless a turn still runs that the failure ends.
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
		for _, i := range state.Waiting { // their senders received an error
			if slices.Contains(refused, i.ID) {
				out = append(out, event.Event{By: "host", Data: event.InputDropped{Input: i.ID}})
			}
		}
		return out
	})
}

// freshInput returns an unused id.
func freshInput(s event.State) string {
	id := s.NextInput()
	for s.Accepted(id) {
		id += "x"
	}
	return id
}

// Drop removes a waiting input and reports whether it did. In a closed session, the error is
// [ErrClosed].
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

// nextInputs returns the inputs of the next turn: the first replacing input or else the first
// waiting one, together with all held inputs. A command runs alone, because held inputs are
// for the model.
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
