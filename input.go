package settle

import (
	"context"
	"encoding/json"

	"github.com/settle-agent/settle/event"
)

// NewInput returns the input that [Session.Submit] makes of its arguments.
func NewInput(text string, options ...InputOption) Input {
	in := Input{Text: text, By: "user"}
	for _, o := range options {
		o.apply(&in)
	}
	return in
}

// InputOption changes how an input is taken.
type InputOption struct{ apply func(*Input) }

// WithID gives an input an id that you choose. An input that is sent again with
// the same id runs only once.
func WithID(id string) InputOption { return InputOption{func(i *Input) { i.ID = id }} }

// WithMode says what the input does while a turn runs.
func WithMode(m event.Mode) InputOption { return InputOption{func(i *Input) { i.Mode = m }} }

// WithSchema asks for an answer that follows a JSON Schema of an object. How
// strictly the model follows it depends on the provider; the answer is not
// checked.
func WithSchema(schema json.RawMessage) InputOption {
	return InputOption{func(i *Input) { i.Schema = schema }}
}

// WithImages adds images.
func WithImages(images ...event.Image) InputOption {
	return InputOption{func(i *Input) { i.Images = append(i.Images, images...) }}
}

// AsCommand has the text run as a command of a person, by the session's tool named
// shell and without asking anybody. It is recorded as a call of the turn, and the
// model is shown it with the next request.
func AsCommand() InputOption { return InputOption{func(i *Input) { i.Command = true }} }

// WithExpansion has the text stand for something else, such as a command for a prompt:
// expand returns what the session is sent, and images to be added. It may wait. Its
// context ends with that of Submit, with an interrupt of the input or of the session,
// and with the session; then, and where expand fails, nothing is accepted, and Submit
// returns the error: of an interrupt, an [*event.Cause]. An input that was accepted
// before is not expanded again.
func WithExpansion(expand func(ctx context.Context, text string) (string, []event.Image, error)) InputOption {
	return InputOption{func(i *Input) { i.Expand = expand }}
}

// From says who sends the input: "user", a client's name.
func From(by string) InputOption { return InputOption{func(i *Input) { i.By = by }} }
