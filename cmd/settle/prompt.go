package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
)

const promptHelp = `Print what a new session would send with its first prompt: the system prompt and the
tools, for the model, the directory and the permission, with the size of each part.

settle sends nothing to the model, runs no hooks and keeps no session. It needs no
key. It connects to the MCP servers of the configuration, whose tools are part of the
request. A token counts as four bytes here.

Exit codes: 0 printed, 2 wrong usage or configuration.`

// promptFlags are the flags of prompt that are not settings.
type promptFlags struct {
	projectFlags
	dir    string
	asJSON bool
}

func newPrompt(s *streams) *cobra.Command {
	var f promptFlags
	cmd := &cobra.Command{
		Use: "prompt [flags]", Short: "Print the system prompt and the tools that a model receives", Long: promptHelp,
		Args:    cobra.NoArgs,
		Example: "  settle prompt\n  settle prompt -m openai/gpt-5.2 --permission allow\n  settle prompt --json | jq .tokens",
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	settingFlags(cmd.Flags())
	cmd.Flags().StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	f.projectFlags.define(cmd.Flags())
	return cmd
}

func (f *promptFlags) run(cmd *cobra.Command, s *streams) error {
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	r, err := s.settings(dir, given(cmd.Flags()), f.project())
	if err != nil {
		return err
	}
	sig := catch(cmd.Context())
	defer sig.release()
	defer sig.watchParent()()
	o := s.options(r, dir)
	o.HostOptions = assemble.HostOptions{Frontend: "prompt"}
	o.PermissionOptions = assemble.PermissionOptions{Permission: settle.Ask, Sandbox: config.SandboxAuto}
	f.apply(&o)
	request, err := o.FirstRequest(sig.ctx)
	if err != nil {
		return sig.instead(err)
	}
	for _, note := range request.Notes {
		s.say(fmt.Errorf("note: %s", note))
	}
	if f.asJSON {
		return failed(about.PromptJSON(s.lines(), request))
	}
	return failed(about.Prompt(s.stdout, request, isTerminal(s.stdout)))
}
