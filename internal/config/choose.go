package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Choice is the chosen model.
type Choice struct {
	Provider Provider
	// Model is the provider's own name of the model; it can contain slashes.
	Model string
	// Note explains the choice, if the user named no model and there were several.
	Note string
}

// Choose returns the named model. Without a name, it returns the default model of the first
// provider that is ready: the provider of the compatibility command's family, then the
// user's own providers by name, then anthropic, openai, gemini and chat. Errors are of type
// *ModelError or *Error.
func (r *Resolved) Choose() (Choice, error) {
	choice, err := r.pick()
	if err != nil {
		return Choice{}, err
	}
	return r.addressed(choice, "model")
}

// ChooseFallback returns the fallback of the chosen model; nil if there is none. The address
// of a flag applies to it if it has the same provider.
func (r *Resolved) ChooseFallback(first Choice) (*Choice, error) {
	if r.FallbackModel == "" || r.FallbackModel == first.String() {
		return nil, nil // it is documented
	}
	choice, err := r.named(r.FallbackModel, "fallback_model")
	if err != nil {
		return nil, err
	}
	if choice.Provider.Name == first.Provider.Name {
		choice.Provider = first.Provider
	}
	if choice, err = r.addressed(choice, "fallback_model"); err != nil {
		return nil, err
	}
	return &choice, nil
}

// ChooseReviewer returns the model of reviews, which a setting names. The address of a flag
// applies to it if it has the same provider as the chosen model.
func (r *Resolved) ChooseReviewer(first Choice) (Choice, error) {
	choice, err := r.named(r.Review.Model, "review.model")
	if err != nil {
		return Choice{}, err
	}
	if choice.Provider.Name == first.Provider.Name {
		choice.Provider = first.Provider
	}
	return r.addressed(choice, "review.model")
}

// addressed returns the choice of a setting with the address of its server.
func (r *Resolved) addressed(choice Choice, setting string) (Choice, error) {
	choice.Provider = r.withAddress(choice.Provider, setting == "model")
	if name := choice.Provider.Name; choice.Provider.BaseURL == "" {
		message := fmt.Sprintf(
			"provider %q has no address; use --base-url http://HOST/v1, or set base_url under [providers.%s]",
			name, name,
		)
		if owner := r.addressOwner(); r.BaseURL != "" && owner != "" {
			message = fmt.Sprintf(
				"provider %q has no address: --base-url belongs to the provider %q; set base_url under [providers.%s]",
				name, owner, name,
			)
		}
		return Choice{}, &Error{Where: r.origin(setting).String(), Key: "base_url", Message: message}
	}
	return choice, nil
}

func (r *Resolved) pick() (Choice, error) {
	if r.Model != "" {
		return r.named(r.Model, "model")
	}
	var ready []Choice
	for _, p := range r.preferred() {
		if p.Model != "" && r.Ready(p) {
			ready = append(ready, Choice{Provider: p, Model: p.Model})
		}
	}
	if len(ready) == 0 {
		return Choice{}, &ModelError{
			Message: "no model was named and no provider has a key\n" +
				"  run \"settle setup\" in a terminal, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY\n" +
				"  or use a local server: --model chat/NAME --base-url http://127.0.0.1:11434/v1",
			Unset: true,
		}
	}
	first := ready[0]
	if len(ready) > 1 {
		var others []string
		for _, c := range ready[1:] {
			others = append(others, c.String())
		}
		first.Note = fmt.Sprintf(
			"using %s; also ready: %s (choose with --model, SETTLE_MODEL, or model in the configuration)", first,
			strings.Join(others, ", "),
		)
	}
	return first, nil
}

// String returns the model as PROVIDER/NAME.
func (c Choice) String() string { return c.Provider.Name + "/" + c.Model }

// preferred returns the providers in order of preference.
func (r *Resolved) preferred() []Provider {
	order := []string{"anthropic", "openai", "gemini", "chat"}
	rank := func(p Provider) int {
		switch at := slices.Index(order, p.Name); {
		case r.in.Family != "" && p.Name == string(r.in.Family):
			return 0
		case at < 0:
			return 1
		default:
			return 2 + at
		}
	}
	list := sortedProviders(r.Providers)
	slices.SortStableFunc(list, func(a, b Provider) int { return rank(a) - rank(b) })
	return list
}

func (r *Resolved) named(full, setting string) (Choice, error) {
	provider, name, ok := strings.Cut(full, "/")
	where := r.origin(setting).String()
	if !ok || name == "" || provider == "" {
		return Choice{}, &ModelError{
			Where: where, Message: fmt.Sprintf("%q must be PROVIDER/NAME", full),
			Choices: r.guesses(full),
		}
	}
	p, known := r.Providers[provider]
	if !known {
		all := slices.Sorted(maps.Keys(r.Providers))
		return Choice{}, &ModelError{
			Where: where,
			Message: fmt.Sprintf(
				"there is no provider %q%s (known: %s; add your own under [providers.NAME] in the configuration)",
				provider, DidYouMean(provider, all), strings.Join(all, ", "),
			),
			Choices: r.defaultModels(),
		}
	}
	return Choice{Provider: p, Model: name}, nil
}

// guesses returns models that a name without a provider can mean.
func (r *Resolved) guesses(full string) []string {
	name := strings.Trim(full, "/")
	if p, known := r.Providers[name]; known && p.Model != "" {
		return []string{p.Name + "/" + p.Model}
	}
	var names []string
	for provider := range r.Providers {
		names = append(names, provider+"/"+name)
	}
	slices.Sort(names)
	return names
}

func (r *Resolved) defaultModels() []string {
	var names []string
	for _, p := range sortedProviders(r.Providers) {
		if p.Model != "" {
			names = append(names, p.Name+"/"+p.Model)
		}
	}
	return names
}

// Ready reports whether the provider can be used without further settings.
func (r *Resolved) Ready(p Provider) bool {
	return p.BaseURL != "" && (p.KeyEnv == "" || r.in.Getenv(p.KeyEnv) != "" || p.KeyFile != "" ||
		len(p.KeyCommand) > 0 || p.bearer)
}

// Askable returns the providers that can list their models: the named provider, or all that
// are ready or need no key; if there are none, the providers that lack only a key.
func (r *Resolved) Askable(name ...string) ([]Provider, error) {
	if len(name) == 0 && r.Model != "" && r.BaseURL != "" {
		of, _, _ := strings.Cut(r.Model, "/")
		name = []string{of}
	}
	if len(name) > 0 {
		p, known := r.Providers[name[0]]
		if !known {
			all := slices.Sorted(maps.Keys(r.Providers))
			return nil, &ModelError{Message: fmt.Sprintf("there is no provider %q%s (known: %s)", name[0],
				DidYouMean(name[0], all), strings.Join(all, ", "))}
		}
		return []Provider{r.withAddress(p, true)}, nil
	}
	if r.BaseURL != "" {
		return nil, &Error{Where: "--base-url", Message: "name the provider that it belongs to, such as \"chat\""}
	}
	var ready, all []Provider
	for _, p := range r.preferred() {
		if p.BaseURL == "" {
			continue
		}
		all = append(all, p)
		if r.Ready(p) || !r.needsKey(p) {
			ready = append(ready, p)
		}
	}
	if len(ready) == 0 {
		return all, nil
	}
	return ready, nil
}
