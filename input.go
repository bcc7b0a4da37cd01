package settle

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
)

// Input is what a session is sent, with all that options say of it, for programs that
// hand it on to another process.
type Input struct {
	ID     string
	Text   string
	Images []event.Image
	Mode   event.Mode // "" means queue
	// Schema, if set, is a JSON Schema that the answer is to follow.
	Schema json.RawMessage
	// Command says that Text is a command to run; see [AsCommand].
	Command bool
	By      string
}

// NewInput returns the input that [Session.Submit] makes of its arguments.
func NewInput(text string, options ...InputOption) Input {
	in := session.Input{Text: text, By: "user"}
	for _, o := range options {
		o.apply(&in)
	}
	return Input(in)
}

// InputOption changes how an input is taken.
type InputOption struct{ apply func(*session.Input) }

// WithID gives an input an id that you choose. An input that is sent again with
// the same id runs only once.
func WithID(id string) InputOption { return InputOption{func(i *session.Input) { i.ID = id }} }

// WithMode says what the input does while a turn runs.
func WithMode(m event.Mode) InputOption { return InputOption{func(i *session.Input) { i.Mode = m }} }

// WithSchema asks for an answer that follows a JSON Schema of an object. How
// strictly the model follows it depends on the provider; the answer is not
// checked.
func WithSchema(schema json.RawMessage) InputOption {
	return InputOption{func(i *session.Input) { i.Schema = schema }}
}

// WithImages adds images.
func WithImages(images ...event.Image) InputOption {
	return InputOption{func(i *session.Input) { i.Images = append(i.Images, images...) }}
}

// AsCommand has the text run as a command of a person, by the session's tool named
// shell and without asking anybody. It is recorded as a call of the turn, and the
// model is shown it with the next request.
func AsCommand() InputOption { return InputOption{func(i *session.Input) { i.Command = true }} }

// From says who sends the input: "user", a client's name.
func From(by string) InputOption { return InputOption{func(i *session.Input) { i.By = by }} }
