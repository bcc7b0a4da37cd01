package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/about"
)

const modelsHelp = `List the models that a provider offers, with their context windows, and mark the
default. Without PROVIDER, list the models of all providers that have a key or
need none.

settle asks each provider for its list. If a provider cannot be reached or has no
key, you see the models that settle knows.

Exit codes: 0 listed, 1 a provider refused (for example, a wrong key), 2 wrong
usage or configuration.`

func newModels(s *streams) *cobra.Command {
	var asJSON bool
	var place placeFlags
	cmd := &cobra.Command{
		Use:     "models [flags] [PROVIDER]",
		Short:   "List the models that a provider offers",
		Long:    modelsHelp,
		Example: "  settle models\n  settle models anthropic --json\n  settle models chat --base-url http://localhost:8000/v1",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, r, err := place.settings(s, cmd.Flags())
		if err != nil {
			return err
		}
		providers, err := r.Askable(args...)
		if err != nil {
			return err
		}
		sig := catch(cmd.Context())
		defer sig.release()
		o := s.options(r, at)
		offers := o.Models(sig.ctx, providers)
		if sig.ctx.Err() != nil {
			return sig.instead(sig.ctx.Err())
		}
		chosen := ""
		if c, err := r.Choose(); err == nil {
			chosen = c.String()
		}
		show := about.Models
		if asJSON {
			show = about.ModelsJSON
		}
		say := func(text string) { s.say(errors.New(text)) }
		refused := about.Unanswered(say, offers)
		if slices.ContainsFunc(offers, func(o assemble.Offer) bool { return len(o.Models) > 0 }) {
			if err := show(s.stdout, offers, chosen); err != nil {
				return failed(err)
			}
		} else if refused == nil {
			say("no provider offers a model")
		}
		if errors.Is(refused, about.ErrUnanswered) {
			return &exitError{code: stdio.CodeFailed} // the command has printed the cause
		}
		return nil
	}
	settingFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	place.define(cmd.Flags())
	return cmd
}
