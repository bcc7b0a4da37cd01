package assemble

import (
	"context"
	"errors"
	"iter"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/model"
)

// FirstRequest is the first request of a new session, without a prompt.
type FirstRequest struct {
	// Model is PROVIDER/NAME. Tools and Prompt are the families of its tools' names and of
	// its system prompt.
	Model, Tools, Prompt string
	// Permission is the mode of the session.
	Permission string
	// Parts are the parts of the system prompt, in order.
	Parts   []prompt.Part
	Request model.Request
	// Notes are messages for the user.
	Notes []string
}

// FirstRequest returns the first request of a new session, and sends nothing to a model. It
// runs no hooks and keeps no session. It connects to the MCP servers, as a session does.
func (o Options) FirstRequest(ctx context.Context) (FirstRequest, error) {
	choice, err := o.Settings.Choose()
	if err != nil {
		return FirstRequest{}, err
	}
	seen := &recorder{requests: make(chan model.Request, 1)}
	table := models(o.Settings, choice.Provider.Name)
	o.Model = model.Config{
		Provider: seen, ProviderName: choice.Provider.Name, Name: choice.Model,
		Traits: traits(o.Settings, choice.Provider, table, choice.Model),
	}
	o.Keeping = Ephemeral
	a, err := New(ctx, o)
	if err != nil {
		return FirstRequest{}, err
	}
	none := 0
	a.Session.Hooks, a.Session.Retry = nil, settle.Retry{Retries: &none}
	if err := a.send(ctx); err != nil {
		return FirstRequest{}, err
	}
	m := a.Session.Model
	out := FirstRequest{
		Model: m.FullName(), Tools: m.Family, Prompt: m.Prompt, Permission: a.Mode(), Notes: a.Notes,
		Parts: a.system.For(prompt.Family(m.Prompt)).Parts,
	}
	select {
	case out.Request = <-seen.requests:
	default:
		return out, errors.New("cannot build the request: no request was made")
	}
	return out, nil
}

// send runs a turn of a session that is not kept, and closes the session.
func (a *Agent) send(ctx context.Context) (err error) {
	host, err := settle.Open(ctx, a.Host)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close(context.WithoutCancel(ctx))) }()
	session, err := host.Session(ctx, "", a.Session)
	if err != nil {
		return err
	}
	turn, err := session.Submit(ctx, "PROMPT")
	if err != nil {
		return err
	}
	_, _ = turn.Wait(ctx) // the recorder refuses the request
	return context.Cause(ctx)
}

// recorder is a provider that keeps the first request and refuses all.
type recorder struct{ requests chan model.Request }

// Stream implements [model.Provider].
func (r *recorder) Stream(_ context.Context, request model.Request) iter.Seq2[model.Chunk, error] {
	select {
	case r.requests <- request:
	default:
	}
	return func(yield func(model.Chunk, error) bool) {
		yield(model.Chunk{}, model.NewError(model.ErrInvalid, "nothing is sent"))
	}
}
