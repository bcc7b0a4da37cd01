package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
)

const agentsHelp = `List the kinds of child agents that a session in this directory can start, and check
their definitions.

A definition is a Markdown file in .settle/agents, .claude/agents or .opencode/agent of
the project, or in your home directory. It can only restrict: a child agent never has
more rights than its parent. If two have the same name, the nearest is used.

Below the list, settle prints the keys that it does not use, and the definitions that it
does not offer. Standard error gets the files that it cannot use.

Exit codes: 0 all can be used, 1 some cannot, 2 wrong usage or configuration.`

func newAgents(s *streams) *cobra.Command {
	var f skillsFlags
	cmd := &cobra.Command{
		Use: "agents [flags]", Short: "List and check the kinds of child agents", Long: agentsHelp, Args: cobra.NoArgs,
		Example: "  settle agents\n  settle agents --json\n  settle agents --model chat/my-model",
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.agents(cmd, s) },
	}
	cmd.Flags().StringP(
		"model", "m", "",
		"list them for a session with the model `PROVIDER/NAME`: a project's agents have models of its provider",
	)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.place.define(cmd.Flags())
	return cmd
}

// kindsOf returns a function that lists the kinds of child agents.
func kindsOf(o assemble.Options) func(io.Writer) {
	o.Resolve = func(string, map[string]string) (*config.Resolved, error) { return o.Settings, nil }
	return func(out io.Writer) {
		list := o.Kinds()
		_ = about.Agents(out, list) // memory
		broken, _ := about.AgentProblems(list)
		for _, problem := range broken {
			fmt.Fprintln(out, problem)
		}
	}
}

func (f *skillsFlags) agents(cmd *cobra.Command, s *streams) error {
	dir, r, err := f.place.settings(s, cmd.Flags())
	if err != nil {
		return err
	}
	o := assemble.Options{Settings: r, Dir: dir, Getenv: s.getenv}
	o.Resolve = func(string, map[string]string) (*config.Resolved, error) { return r, nil }
	f.place.project.apply(&o)
	list := o.Kinds()
	if f.asJSON {
		err = failed(about.AgentsJSON(s.lines(), list))
	} else {
		err = s.list(
			"there are no kinds of child agents here", func(to io.Writer) error { return about.Agents(to, list) },
		)
	}
	if err != nil {
		return err
	}
	broken, _ := about.AgentProblems(list)
	for _, problem := range broken {
		s.say(errors.New(problem))
	}
	if len(broken) > 0 {
		return &exitError{code: stdio.CodeFailed}
	}
	return nil
}
