package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// modelsTimeout bounds a request for a provider's list of models.
const modelsTimeout = 10 * time.Second

// Offer is the list of models of a provider.
type Offer struct {
	Provider config.Provider
	// Models are sorted by name; settle's table completes missing data.
	Models []transport.Listed
	// Known reports that the list comes from settle's table, because the provider could not
	// be asked; Err is the reason.
	Known bool
	Err   error
}

// Models returns the lists of the providers, requested in parallel. For an unreachable
// provider it returns the models in settle's table.
func (o Options) Models(ctx context.Context, providers []config.Provider) []Offer {
	offers := make([]Offer, len(providers))
	var wg sync.WaitGroup
	for i, p := range providers {
		wg.Go(scope.Shield(func(err error) { offers[i] = Offer{Provider: p, Err: err} },
			func() { offers[i] = o.offer(ctx, p) }))
	}
	wg.Wait()
	return offers
}

func (o Options) offer(ctx context.Context, p config.Provider) Offer {
	ctx, cancel := context.WithTimeoutCause(ctx, modelsTimeout, fmt.Errorf("no answer within %s", modelsTimeout))
	defer cancel()
	table := models(o.Settings, p.Name)
	list, err := o.ask(ctx, p)
	offer := Offer{Provider: p, Models: list, Err: err}
	var fault *model.Error
	var key *config.KeyError
	if err != nil && (errors.As(err, &key) || !errors.As(err, &fault) || fault.Kind == model.ErrConnection) {
		offer.Models, offer.Known = known(p.Wire), true
	}
	for i, m := range offer.Models {
		entry, _ := table.Lookup(m.ID)
		offer.Models[i] = transport.Listed{
			ID: m.ID, Window: first(entry.Window, m.Window),
			MaxOutput: first(entry.MaxOutput, m.MaxOutput),
		}
	}
	slices.SortFunc(offer.Models, func(a, b transport.Listed) int { return strings.Compare(a.ID, b.ID) })
	return offer
}

// Offered is a model that a person can choose.
type Offered struct {
	Name, About string
	Window      int          `json:",omitempty"` // tokens
	Price       *model.Price `json:",omitempty"`
	Efforts     []string     `json:",omitempty"` // of thinking, from the lowest
}

// OfferedColumns are the headings of the name and of the columns of [Offered.Columns]. The window is in
// tokens, and the price is in US dollars per million tokens.
const OfferedColumns = "Model\tWindow\t$/M in / out\tEffort"

// Columns describes the model, with tabs between the columns.
func (o Offered) Columns() string {
	window, cost, efforts := "", "", ""
	if o.Window > 0 {
		window = terminal.Window(o.Window)
	}
	if o.Price != nil {
		cost = fmt.Sprintf("%g / %g", o.Price.Input, o.Price.Output)
	}
	if n := len(o.Efforts); n > 0 {
		efforts = o.Efforts[0] + " to " + o.Efforts[n-1]
	}
	return window + "\t" + cost + "\t" + efforts
}

// Offered requests the models that the sessions of a directory can use, by the names that
// choose them.
func (h *Sessions) Offered(ctx context.Context, dir string) ([]Offered, error) {
	settings, err := h.Settings(dir, nil)
	if err != nil {
		return nil, err
	}
	providers, err := settings.Askable()
	if err != nil {
		return nil, err
	}
	o := h.Base
	o.Settings, o.Dir = settings, dir
	return o.OfferedBy(ctx, providers...)
}

// OfferedBy requests the models of the providers.
func (o Options) OfferedBy(ctx context.Context, providers ...config.Provider) ([]Offered, error) {
	var out []Offered
	var errs []error
	for _, offer := range o.Models(ctx, providers) {
		if offer.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", offer.Provider.Name, offer.Err))
		}
		table := models(o.Settings, offer.Provider.Name)
		for _, m := range offer.Models {
			entry, _ := table.Lookup(m.ID)
			about := ""
			if m.Window > 0 {
				about = terminal.Window(m.Window) + " tokens"
			}
			if offer.Known {
				about = strings.TrimPrefix(about+", not asked", ", ")
			}
			out = append(out, Offered{
				Name: offer.Provider.Name + "/" + m.ID, About: about, Window: m.Window, Efforts: entry.Efforts,
				Price: price(o.Settings, config.Choice{Provider: offer.Provider, Model: m.ID}),
			})
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

func first(a, b int) int {
	if a > 0 {
		return a
	}
	return b
}

// ask requests the provider's list. Its errors contain no secrets.
func (o Options) ask(ctx context.Context, p config.Provider) ([]transport.Listed, error) {
	if p.BaseURL == "" {
		return nil, &config.KeyError{Provider: p.Name, Message: "it has no address; use --base-url http://HOST/v1"}
	}
	key, err := o.Settings.Key(ctx, p, runCommand(keyDir(o.Settings), o.Environ))
	if err != nil {
		return nil, err
	}
	endpoint := o.endpoint(config.Choice{Provider: p}, newKey(key, nil))
	ask := map[config.Wire]func(context.Context, transport.Endpoint) ([]transport.Listed, error){
		config.WireOpenAI: openai.Models, config.WireAnthropic: anthropic.Models, config.WireChat: chat.Models,
		config.WireGemini: gemini.Models,
	}[p.Wire]
	list, err := ask(ctx, endpoint)
	if err != nil && key != "" {
		mask := redact.New(append(o.Settings.Secrets(), key)...)
		var fault *model.Error
		if errors.As(err, &fault) {
			fault.Message = mask.Diagnostic(fault.Message)
		}
	}
	return list, err
}

// KnownModels returns the models in settle's table as PROVIDER/NAME, without a request.
func KnownModels() []string {
	var names []string
	for _, wire := range []config.Wire{config.WireAnthropic, config.WireGemini, config.WireOpenAI} {
		for _, m := range known(wire) {
			names = append(names, string(wire)+"/"+m.ID)
		}
	}
	slices.Sort(names)
	return names
}

// known returns the models in settle's table by the maker of a wire format; none for chat.
func known(wire config.Wire) []transport.Listed {
	var list []transport.Listed
	for name := range catalog.Builtin() {
		maker := config.WireOpenAI
		switch {
		case strings.HasPrefix(name, "claude-"):
			maker = config.WireAnthropic
		case strings.HasPrefix(name, "gemini-"):
			maker = config.WireGemini
		case strings.HasPrefix(name, "gpt-oss-"):
			continue
		}
		if wire == maker {
			list = append(list, transport.Listed{ID: name})
		}
	}
	return list
}
