package config

import (
	"cmp"
	"maps"
)

// addressFor is the given setting that names the provider of the address in base_url. Without it, the
// address belongs to the provider of the chosen model.
const addressFor = "base_url_for"

// Merge returns the given settings over the settings below them. An address in the settings below stays
// with its provider, whose name is provider if the settings have none: the server at the address
// receives no key of another provider whose model is chosen later. The address of an unknown
// provider is left out.
func Merge(below, given map[string]string, provider string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, below)
	switch {
	case given["base_url"] != "":
		delete(all, addressFor)
	case all["base_url"] != "" && all[addressFor] == "" && provider == "":
		delete(all, "base_url")
	case all["base_url"] != "" && all[addressFor] == "":
		all[addressFor] = provider
	}
	maps.Copy(all, given)
	return all
}

// LoadOver calls load with the given settings over the flags of the command line. If the given
// settings name a model, the address of a flag is used only for the provider of the model without them.
func LoadOver(
	flags, given map[string]string, load func(map[string]string) (*Resolved, error),
) (*Resolved, error) {
	if _, names := given["model"]; flags["base_url"] != "" && given["base_url"] == "" && names {
		r, err := load(flags)
		if err != nil {
			return nil, err
		}
		return load(Merge(flags, given, cmp.Or(r.addressOwner(), r.chosenProvider())))
	}
	all := map[string]string{}
	maps.Copy(all, flags)
	maps.Copy(all, given)
	return load(all)
}

// chosenProvider returns the name of the chosen model's provider; empty if no model can be chosen.
func (r *Resolved) chosenProvider() string {
	choice, err := r.pick()
	if err != nil {
		return ""
	}
	return choice.Provider.Name
}

// addressOwner returns the provider of the address of a flag; empty for the chosen model's. A project that
// names the model does not choose it: the address belongs to the provider without the project's model.
func (r *Resolved) addressOwner() string {
	if r.baseURLFor != "" || r.Origins["model"].Kind != Project {
		return r.baseURLFor
	}
	own := *r
	own.Model = ""
	choice, err := own.pick()
	if err != nil {
		return "" // no provider has a key
	}
	return choice.Provider.Name
}

// withAddress returns the provider with the address of a flag, if the address belongs to it: this
// function alone decides which provider's key a server receives.
func (r *Resolved) withAddress(p Provider, chosen bool) Provider {
	if owner := r.addressOwner(); r.BaseURL != "" && (owner == p.Name || owner == "" && chosen) {
		p.BaseURL, p.BaseURLOrigin = r.BaseURL, r.Origins["base_url"]
	}
	return p
}
