package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
)

// Choice is one of the answers to a question.
type Choice struct{ ID, Label, Detail string }

// Question is a question with choices, or one for a text.
type Question struct {
	Title string
	// Choices are the answers, of which Selected is selected first; without choices, the
	// person types a text.
	Choices  []Choice
	Selected string
	// Hidden means that the text is never shown.
	Hidden bool
}

// Asker asks the person.
type Asker interface {
	// Say shows lines for good.
	Say(lines ...string)
	// Ask returns the ID of the choice, or the text. The errors are ErrBack, ErrLeft and those of
	// the terminal.
	Ask(ctx context.Context, q Question) (string, error)
	// Wait shows what happens until do returns. If the person does not want to wait, the
	// context of do ends, and the error is ErrBack or ErrLeft.
	Wait(ctx context.Context, what string, do func(context.Context)) error
}

var (
	// ErrBack: the person goes back to the question before.
	ErrBack = errors.New("back")
	// ErrLeft: the person leaves the setup.
	ErrLeft = errors.New("setup was left; nothing was written; \"settle setup\" begins it again")
)

// Setup asks a person for the model to use.
type Setup struct {
	Asker
	// Options are the options of the requests; its Settings are those in force.
	assemble.Options
	// Servers are the addresses to look at.
	Servers []Server
}

// flow is one run of a Setup.
type flow struct {
	Setup
	draft   config.Draft
	refused map[string]bool // providers that refused the key that is there
}

// Run asks, tries the choice and keeps it. The error is ErrLeft if the person leaves; then nothing
// was written.
func (s Setup) Run(ctx context.Context) error {
	f := &flow{Setup: s, refused: map[string]bool{}}
	var servers []Server
	if err := f.Wait(ctx, "looking for keys and local model servers", func(ctx context.Context) {
		servers = Find(ctx, s.Servers)
	}); err != nil {
		return ErrLeft
	}
	f.Say("settle needs a model. Nothing is written before the last step; Ctrl-C leaves.", "")
	f.Say(append(report(s.Settings, servers), "")...)
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return f.provider(ctx, servers) }, f.model, f.try,
	}
	for at := 0; at < len(steps); {
		switch err := steps[at](ctx); {
		case err == nil:
			at++
		case errors.Is(err, ErrBack) && at > 0:
			at = 0 // the step before may have had no question
		case errors.Is(err, ErrBack), ctx.Err() != nil:
			return ErrLeft
		default:
			return err
		}
	}
	written, err := s.Settings.Keep(f.draft)
	if err != nil {
		return err
	}
	lines := []string{"✓ settle uses " + f.draft.Provider.Name + "/" + f.draft.Model, "  written to " + written[0]}
	for _, file := range written[1:] {
		lines = append(lines, "  the key is in "+file+", which only you can read")
	}
	f.Say(append(lines, "")...)
	return nil
}

// provider asks for the provider, its address and its key.
func (f *flow) provider(ctx context.Context, servers []Server) error {
	for {
		chosen, err := f.choose(ctx, f.offers(servers))
		if err != nil {
			return err
		}
		if err = f.access(ctx, chosen); !errors.Is(err, ErrBack) {
			return err
		}
	}
}

func (f *flow) choose(ctx context.Context, list []offer) (offer, error) {
	q := Question{Title: "Provider"}
	for _, o := range list {
		q.Choices = append(q.Choices, o.choice)
	}
	id, err := f.Ask(ctx, q)
	return list[max(slices.IndexFunc(list, of(id)), 0)], err
}

// access asks for what the chosen provider needs.
func (f *flow) access(ctx context.Context, chosen offer) error {
	f.draft = config.Draft{Provider: chosen.provider}
	switch {
	case chosen.choice.ID == otherServer:
		if err := f.address(ctx); err != nil {
			return err
		}
		return f.optionalKey(ctx)
	case chosen.needsKey, f.refused[chosen.choice.ID]:
		return f.key(ctx, chosen.choice.Label)
	}
	return nil
}

// address asks for the address of a server that speaks Chat Completions.
func (f *flow) address(ctx context.Context) error {
	for {
		text, err := f.Ask(ctx, Question{Title: "Address, such as http://HOST:8000/v1"})
		if err != nil {
			return err
		}
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			u.RawQuery != "" || u.User != nil {
			f.Say("✗ an address begins with http:// or https://, and has no query and no password")
			continue
		}
		f.draft.Provider = f.Settings.Providers["chat"]
		f.draft.Provider.BaseURL = text
		return nil
	}
}

// optionalKey asks whether a server needs a key.
func (f *flow) optionalKey(ctx context.Context) error {
	id, err := f.Ask(ctx, Question{Title: "Key", Choices: []Choice{
		{ID: "no", Label: "The server needs none"}, {ID: "yes", Label: "The server needs one"},
	}})
	if err != nil || id == "no" {
		return err
	}
	return f.key(ctx, "the server")
}

// key asks for a key, or for a command that prints it.
func (f *flow) key(ctx context.Context, whose string) error {
	id, err := f.Ask(ctx, Question{Title: "Key for " + whose, Choices: []Choice{
		{ID: "paste", Label: "Paste it", Detail: "settle keeps it in a file that only you can read"},
		{ID: "command", Label: "Name a command that prints it", Detail: "of a keyring or a password manager"},
	}})
	if err != nil {
		return err
	}
	q := Question{Title: "Key (it is not shown)", Hidden: true}
	if id == "command" {
		q = Question{Title: "Command, such as: pass show NAME, secret-tool lookup service NAME"}
	}
	for {
		text, err := f.Ask(ctx, q)
		text = strings.TrimSpace(text)
		switch {
		case err != nil:
			return err
		case text == "":
			continue
		case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || !q.Hidden && r > 0x7e }):
			f.Say("✗ a key or a command is one line without control characters")
			continue
		case q.Hidden:
			f.draft.Key = text
		default:
			f.draft.KeyCommand = text
		}
		return nil
	}
}

// model asks for a model of the provider.
func (f *flow) model(ctx context.Context) error {
	tried := f.Options
	tried.Settings = f.Settings.Try(f.draft)
	p := tried.Settings.Providers[f.draft.Provider.Name]
	var offered []assemble.Offered
	var err error
	if waited := f.Wait(ctx, "asking "+p.Name+" for its models", func(ctx context.Context) {
		offered, err = tried.OfferedBy(ctx, p)
	}); waited != nil {
		return waited
	}
	if err != nil {
		f.Say("✗ " + terminal.OneLine(err.Error()))
		var refused *model.Error
		if errors.As(err, &refused) && refused.Kind == model.ErrAuth {
			f.refused[p.Name] = true
			return ErrBack
		}
	}
	q := Question{Title: "Model", Selected: p.Model}
	for _, m := range offered {
		name := strings.TrimPrefix(m.Name, p.Name+"/")
		q.Choices = append(q.Choices, Choice{ID: name, Label: name, Detail: m.Columns()})
	}
	if len(q.Choices) == 0 {
		q.Title = "Name of the model (the list is not available)"
	}
	f.draft.Model, err = f.Ask(ctx, q)
	if f.draft.Model = strings.TrimSpace(f.draft.Model); err == nil && f.draft.Model == "" {
		return ErrBack
	}
	return err
}

// try makes a test request, and asks what to do if it fails.
func (f *flow) try(ctx context.Context) error {
	tried := f.Options
	tried.Settings = f.Settings.Try(f.draft)
	name := f.draft.Provider.Name + "/" + f.draft.Model
	var got assemble.Trial
	var err error
	if waited := f.Wait(ctx, "sending one test request to "+name, func(ctx context.Context) {
		got, err = tried.Try(ctx)
	}); waited != nil {
		return waited
	}
	if err == nil {
		answer := terminal.Short(got.Answer, 40)
		f.Say(fmt.Sprintf("✓ %s answered %q after %s", name, answer, terminal.Duration(got.Elapsed)))
		return nil
	}
	f.Say("✗ the test request failed: " + terminal.OneLine(err.Error()))
	id, err := f.Ask(ctx, Question{Title: "Next", Choices: []Choice{
		{ID: "back", Label: "Choose again"},
		{ID: "keep", Label: "Keep this choice", Detail: "although it does not work now"},
	}})
	if err == nil && id == "back" {
		return ErrBack
	}
	return err
}
