package about

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// chosenModel checks the sources of keys, and the model of the next turn.
func (d *doctor) chosenModel(ctx context.Context) {
	choice, err := d.Settings.Choose()
	chosen := ""
	if err == nil {
		chosen = choice.Provider.Name
	}
	for _, name := range slices.Sorted(maps.Keys(d.Settings.Providers)) {
		d.key(d.Settings.Providers[name], name == chosen)
	}
	if err == nil && !d.Settings.FromCommand(choice.Provider) {
		_, err = d.Settings.Key(ctx, choice.Provider, nil)
	}
	if err != nil {
		d.report(failed, "model", "%v", err)
		return
	}
	d.model = choice.String()
	if choice.Provider.Loopback() {
		d.localServer(ctx, choice)
		return
	}
	d.untried = "no request was sent"
	d.report(passed, "model", "%s", choice)
}

// key reports the source of a provider's key. A key_command does not run, because it can ask the
// person; its program must be there.
func (d *doctor) key(p config.Provider, chosen bool) {
	source := d.Settings.KeySource(p)
	lacks := limited
	if chosen {
		lacks = failed
	}
	from, found := strings.CutPrefix(source, "from ")
	missing, isMissing := strings.CutPrefix(source, "missing: ")
	switch {
	case d.Settings.FromCommand(p):
		program := p.KeyCommand[0]
		if _, err := proc.FindProgram(program, d.Getenv("PATH")); err != nil {
			d.report(
				lacks, "key", "the key_command of %s cannot start: %v\n  install %s, or set key_env, key_file "+
					"or another key_command under [providers.%s]", p.Name, err, program, p.Name,
			)
			return
		}
		d.report(
			limited, "key", "%q prints the key for %s at %s; it was not run",
			strings.Join(p.KeyCommand, " "), p.Name, p.BaseURL,
		)
	case found:
		d.report(passed, "key", "%s has the key for %s at %s", from, p.Name, p.BaseURL)
	case isMissing && !chosen && p.Origin.Kind == config.File: // the check of the model reports the chosen provider
		d.report(limited, "key", "there is no key for %s at %s: %s", p.Name, p.BaseURL, missing)
	}
}

// localServer asks a server on this machine for its list of models. It runs no key_command.
func (d *doctor) localServer(ctx context.Context, choice config.Choice) {
	p := choice.Provider
	p.KeyCommand = nil
	ctx, cancel := context.WithTimeoutCause(ctx, checkTimeout, fmt.Errorf("no answer within %s", checkTimeout))
	defer cancel()
	o := assemble.Options{Settings: d.Settings, Environ: d.Environ, Getenv: d.Getenv, Version: d.Version}
	offer := o.Models(ctx, []config.Provider{p})[0]
	var fault *model.Error
	switch listed := offer.Models; {
	case errors.As(offer.Err, &fault) && fault.Kind == model.ErrConnection:
		d.report(
			failed, "model", "%s: %v\n  start the server, or choose another model with \"settle setup\" or --model",
			choice, offer.Err,
		)
	case offer.Err != nil:
		d.untried = "its server did not list its models"
		d.report(limited, "model", "%s; its server did not list its models: %v", choice, offer.Err)
	case !slices.ContainsFunc(listed, func(m transport.Listed) bool { return m.ID == choice.Model }):
		d.untried = "its server does not list this model"
		d.report(
			limited, "model", "%s; its server lists %s, and not this one (settle models %s)", choice,
			terminal.Count(len(listed), "model"), p.Name,
		)
	default:
		d.report(passed, "model", "%s, which %s lists", choice, p.BaseURL)
	}
}
