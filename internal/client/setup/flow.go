package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	// person types a text, which begins as Selected.
	Choices  []Choice
	Selected string
	// Columns are the headings of the labels and of the columns of the details, separated by tabs; can be empty.
	Columns string
	// Hidden means that the text is never shown.
	Hidden bool
	// Secret means that a text that is pasted is the answer: it is never shown.
	Secret bool
	// First means that there is no question before: going back leaves the setup.
	First bool
}

// Asker asks the person.
type Asker interface {
	// Say shows lines for good.
	Say(lines ...string)
	// Ask returns the ID of the choice, or the text. The errors are ErrBack, ErrLeft and errors of
	// the terminal.
	Ask(ctx context.Context, q Question) (string, error)
	// Wait shows the text what until do returns. If the person does not want to wait, the context
	// of do ends, and the error is ErrBack or ErrLeft.
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
	// Options are the options of the requests; its Settings are the settings in force.
	assemble.Options
	// Servers are the addresses to look at.
	Servers []Server
}

// flow is one run of a Setup.
type flow struct {
	Setup
	now     config.Choice // the model in force; empty for none
	servers []Server
	draft   config.Draft
	chosen  offer
	refused map[string]bool // providers that refused the key that is there
	// needsKey means that the person still has to give a key; hidden that they type the key
	// itself, not a command that prints it.
	needsKey, hidden bool
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
	f.Say(f.greeting(), "")
	found := report(s.Settings, servers)
	if f.now.Model == "" && !slices.ContainsFunc(found, isReady) {
		found = append(found, scripted)
	}
	f.Say(append(found, "")...)
	f.servers = servers
	if err := f.walk(ctx); err != nil {
		return err
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

// scripted tells a person without a key and a server how to try settle.
const scripted = "– to try settle without a key: leave, start \"settle fake-model\", a scripted model (docs/quickstart.md has " +
	"a script), and choose \"Another server\" here; or run \"settle demo\""

// isReady reports whether a line of the report is about something that can be chosen.
func isReady(line string) bool { return strings.HasPrefix(line, "✓") }

// greeting says which model settle uses now.
func (f *flow) greeting() string {
	const keeps = " Nothing is written before the last step; Ctrl-C leaves."
	if now, err := f.Settings.Choose(); err == nil {
		f.now = now
		return "settle uses " + now.Provider.Name + "/" + now.Model + "; choose another." + keeps
	}
	return "settle needs a model." + keeps
}

// errAgain: the choice does not work; the person chooses the provider again.
var errAgain = errors.New("choose again")

// step is a step of the setup. It reports whether it has had a question.
type step func(ctx context.Context) (question bool, err error)

// walk goes through the steps. ErrBack goes back to the last step with a question.
func (f *flow) walk(ctx context.Context) error {
	steps := []step{f.provider, f.address, f.keyKind, f.key, f.model, f.try}
	for at, past := 0, []int(nil); at < len(steps); {
		switch question, err := steps[at](ctx); {
		case err == nil && question:
			past = append(past, at)
			at++
		case err == nil:
			at++
		case errors.Is(err, errAgain):
			at, past = 0, nil
		case errors.Is(err, ErrBack) && len(past) > 0 && ctx.Err() == nil:
			at, past = past[len(past)-1], past[:len(past)-1]
		case errors.Is(err, ErrBack), ctx.Err() != nil:
			return ErrLeft
		default:
			return err
		}
	}
	return nil
}

// provider asks for the provider.
func (f *flow) provider(ctx context.Context) (question bool, err error) {
	list := f.offers(f.servers)
	q := Question{Title: "Provider", Selected: f.now.Provider.Name, First: true}
	for _, o := range list {
		q.Choices = append(q.Choices, o.choice)
	}
	id, err := f.Ask(ctx, q)
	f.chosen = list[max(slices.IndexFunc(list, of(id)), 0)]
	f.draft = config.Draft{Provider: f.chosen.provider}
	return true, err
}

// address asks for the address of a server that speaks Chat Completions.
func (f *flow) address(ctx context.Context) (question bool, err error) {
	if f.chosen.choice.ID != otherServer {
		return false, nil
	}
	q := Question{Title: "Address, such as http://HOST:8000/v1", Selected: f.draft.Provider.BaseURL}
	for {
		text, err := f.Ask(ctx, q)
		if err != nil {
			return true, err
		}
		q.Selected = text
		text = withScheme(strings.TrimRight(strings.TrimSpace(text), "/"))
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			u.RawQuery != "" || u.User != nil {
			f.Say("✗ an address begins with http:// or https://, and has no query and no password")
			continue
		}
		f.draft.Provider = f.Settings.Providers["chat"]
		f.draft.Provider.BaseURL = strings.TrimSuffix(text, "/chat/completions")
		return true, nil
	}
}

// withScheme completes an address without a scheme: http for a server of the local network, else https. A
// word alone is no address, and neither is a mistyped scheme.
func withScheme(address string) string {
	switch {
	case strings.Contains(address, "://"), mistypedScheme().MatchString(address),
		address != "localhost" && !strings.ContainsAny(address, ".:"):
		return address
	case config.Provider{BaseURL: "http://" + address}.Private():
		return "http://" + address
	}
	return "https://" + address
}

// mistypedScheme matches an address that begins with a scheme without "://".
var mistypedScheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^https?[:;/]`) })

// keyKind asks how the person gives the key. A key that is pasted at this question is the key.
func (f *flow) keyKind(ctx context.Context) (question bool, err error) {
	f.draft.Key, f.draft.KeyCommand, f.hidden, f.needsKey = "", "", true, true
	q := Question{Title: "How do you give the key for " + f.chosen.choice.Label + "?", Secret: true, Choices: []Choice{
		{ID: "paste", Label: "Paste it", Detail: "kept in a file that only you can read"},
		{ID: "command", Label: "Name a command that prints it", Detail: "of a keyring, for example"},
	}}
	switch {
	case f.chosen.choice.ID == otherServer:
		q.Title = "Does the server need a key?"
		q.Choices = append([]Choice{{ID: "no", Label: "No key"}}, q.Choices...)
		q.Choices[1].Label, q.Choices[2].Label = "A key: paste it", "A key: name a command that prints it"
	case !f.chosen.needsKey && !f.refused[f.chosen.choice.ID]:
		f.needsKey = false
		return false, nil
	}
	id, err := f.Ask(ctx, q)
	switch id {
	case "no":
		f.needsKey = false
	case "command":
		f.hidden = false
	case "paste", "":
	default:
		f.draft.Key = id
		if f.needsKey = !oneLine(id); f.needsKey {
			f.Say(notOneLine)
			f.draft.Key = ""
		}
	}
	return true, err
}

// notOneLine refuses a key or a command.
const notOneLine = "✗ a key or a command is one line without control characters"

// oneLine reports whether a text can be a key.
func oneLine(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// key asks for a key, or for a command that prints it.
func (f *flow) key(ctx context.Context) (question bool, err error) {
	if !f.needsKey {
		return false, nil
	}
	q := Question{Title: "Key (it is not shown)", Hidden: true}
	if !f.hidden {
		q = Question{Title: "Command, such as: pass show NAME, secret-tool lookup service NAME"}
	}
	for {
		text, err := f.Ask(ctx, q)
		text = strings.TrimSpace(text)
		switch {
		case err != nil:
			return true, err
		case text == "":
			continue
		case !oneLine(text), !q.Hidden && strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e }):
			f.Say(notOneLine)
			continue
		case q.Hidden:
			f.draft.Key, f.draft.KeyCommand = text, ""
		default:
			f.draft.Key, f.draft.KeyCommand = "", text
		}
		return true, nil
	}
}

// offered returns the models of the provider of the draft. An address without a version is
// also tried with /v1; the draft keeps the address that answers.
func (f *flow) offered(ctx context.Context) (list []assemble.Offered, err error) {
	ask := func(base string) ([]assemble.Offered, error) {
		draft := f.draft
		draft.Provider.BaseURL = base
		tried := f.Options
		tried.Settings = f.Settings.Try(draft)
		return tried.OfferedBy(ctx, tried.Settings.Providers[draft.Provider.Name])
	}
	base := f.draft.Provider.BaseURL
	list, err = ask(base)
	if err == nil || f.chosen.choice.ID != otherServer || strings.HasSuffix(base, "/v1") {
		return list, err
	}
	if more, moreErr := ask(base + "/v1"); moreErr == nil {
		f.draft.Provider.BaseURL = base + "/v1"
		return more, nil
	}
	return nil, err
}

// model asks for a model of the provider.
func (f *flow) model(ctx context.Context) (question bool, err error) {
	name := f.draft.Provider.Name
	var offered []assemble.Offered
	base := f.draft.Provider.BaseURL
	if waited := f.Wait(ctx, "asking "+name+" for its models", func(ctx context.Context) {
		offered, err = f.offered(ctx)
	}); waited != nil {
		return false, waited
	}
	if f.draft.Provider.BaseURL != base {
		f.Say("✓ the server answers at " + f.draft.Provider.BaseURL)
	}
	if err != nil {
		f.Say("✗ " + terminal.OneLine(err.Error()))
		var refused *model.Error
		if errors.As(err, &refused) && refused.Kind == model.ErrAuth {
			f.refused[name] = true
			return false, errAgain
		}
	}
	q := Question{Title: "Model", Columns: assemble.OfferedColumns, Selected: f.Settings.Providers[name].Model}
	if name == f.now.Provider.Name {
		q.Selected = f.now.Model
	}
	for _, m := range offered {
		name := strings.TrimPrefix(m.Name, name+"/")
		q.Choices = append(q.Choices, Choice{ID: name, Label: name, Detail: m.Columns()})
	}
	if len(q.Choices) == 0 {
		q.Title, q.Selected = "Name of the model (the list is not available)", ""
	}
	for err = nil; ; {
		f.draft.Model, err = f.Ask(ctx, q)
		if f.draft.Model = strings.TrimSpace(f.draft.Model); err != nil || f.draft.Model != "" {
			return true, err
		}
	}
}

// try makes a test request. If it fails, try asks for the next action.
func (f *flow) try(ctx context.Context) (question bool, err error) {
	tried := f.Options
	tried.Settings = f.Settings.Try(f.draft)
	name := f.draft.Provider.Name + "/" + f.draft.Model
	var got assemble.Trial
	if waited := f.Wait(ctx, "sending one test request to "+name, func(ctx context.Context) {
		got, err = tried.Try(ctx)
	}); waited != nil {
		return false, waited
	}
	if err == nil {
		answer := terminal.Short(got.Answer, 40)
		f.Say(fmt.Sprintf("✓ %s answered %q after %s", name, answer, terminal.Duration(got.Elapsed)))
		return false, nil
	}
	f.Say("✗ the test request failed: " + terminal.OneLine(err.Error()))
	id, err := f.Ask(ctx, Question{Title: "Next", Choices: []Choice{
		{ID: "back", Label: "Choose again"},
		{ID: "keep", Label: "Keep this choice", Detail: "although it does not work now"},
	}})
	if err == nil && id == "back" {
		return true, errAgain
	}
	return true, err
}
