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

// InputOption sets an option of an input.
type InputOption struct{ apply func(*Input) }

// WithID sets the input's id. An input that is sent again with the same id runs only once.
func WithID(id string) InputOption { return InputOption{func(i *Input) { i.ID = id }} }

// WithMode sets the effect of the input on a running turn.
func WithMode(m event.Mode) InputOption { return InputOption{func(i *Input) { i.Mode = m }} }

// WithSchema requests an answer that matches a JSON Schema of an object. The provider decides
// how strictly the model follows it; settle does not check the answer.
func WithSchema(schema json.RawMessage) InputOption {
	return InputOption{func(i *Input) { i.Schema = schema }}
}

// WithImages adds images.
func WithImages(images ...event.Image) InputOption {
	return InputOption{func(i *Input) { i.Images = append(i.Images, images...) }}
}

// WithDocuments adds PDFs. Only their data must be set: the session reads their pages and text,
// for models that do not take documents.
func WithDocuments(documents ...event.Document) InputOption {
	return InputOption{func(i *Input) { i.Documents = append(i.Documents, documents...) }}
}

// AsCommand runs the text as a person's command, with the session's tool named shell and
// without approval. The turn records it as a call, and the model receives it with the next
// request.
func AsCommand() InputOption { return InputOption{func(i *Input) { i.Command = true }} }

// AsVerdict makes the input a person's verdict about a held call, see [event.State.HeldCalls]:
// v has the id of the call, the verdict and an optional message. The text is not used. A call
// that is approved runs in the turn of the input; a denial is held until the next input. If the
// call has a verdict, Submit returns an [*AnsweredError] and nothing is accepted. An approval that
// is held itself can be given again: the input then runs the call.
func AsVerdict(v *event.HeldVerdict) InputOption {
	return InputOption{func(i *Input) { i.HeldCall = v }}
}

// WithNext makes a verdict wait for the session's next input: no turn starts for the verdict alone,
// and the next turn runs all calls that were approved so. It is only for [AsVerdict].
func WithNext() InputOption { return InputOption{func(i *Input) { i.Hold = true }} }

// AsLast is for a program that ends after the input's turn: the session starts no turn after it.
// The session holds other inputs, and refuses to approve a held call, until it is opened again.
func AsLast() InputOption { return InputOption{func(i *Input) { i.Last = true }} }

// WithExpansion replaces the input's text, such as the name of a command by a prompt: expand
// returns the new text, and images to add. It may block. Its context ends with the context of
// Submit, with an interrupt of the input or the session, and with the session. If that happens
// or expand fails, nothing is accepted, and Submit returns the error; after an interrupt, an
// [*event.Cause]. An input with an accepted id is not expanded again.
func WithExpansion(expand func(ctx context.Context, text string) (string, []event.Image, error)) InputOption {
	return InputOption{func(i *Input) { i.Expand = expand }}
}

// From sets the sender of the input: "user" or the name of a client.
func From(by string) InputOption { return InputOption{func(i *Input) { i.By = by }} }
