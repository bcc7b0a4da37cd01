package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/frontend/tui/conversation"
)

const rootHelp = `settle is a coding agent. Give it a task in a directory, and it works there with a
model and tools: a shell, and tools to read, write and search files. Everything
that it starts, ends: exactly once, with an honest cause, and nothing left running.

Try it without a key or a network:

  settle demo

Work with it in the terminal, which asks for a model the first time, or with
ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY set, give it one task in a script:

  settle
  settle run "fix the failing test"

Or use any server that speaks Chat Completions:

  settle run -m chat/qwen3-coder --base-url http://localhost:8000/v1 "fix the failing test"

The exit code says how the turn ended: 0 completed, 1 failed, 2 wrong usage or
configuration, 3 limit reached, 130 interrupted. "settle help run" lists all.`

func newRoot(s *streams) *cobra.Command {
	var f tuiFlags
	var tell bool
	var prompt string
	root := &cobra.Command{
		Use:   "settle [flags] [\"PROMPT\"]",
		Short: "A coding agent whose every turn ends",
		Long:  rootHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if tell || f.host {
				return nil
			}
			var err error
			prompt, err = promptOf(cmd, args, &f.worktree)
			return err
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tell {
				_, err := fmt.Fprint(cmd.OutOrStdout(), versionLine())
				return failed(err)
			}
			if prompt == "" && !s.person() && !f.host {
				return cmd.Help()
			}
			return f.open(
				cmd, s, func(context.Context, *conversation.Sessions) (string, error) { return "", nil }, prompt,
			)
		},
	}
	f.define(root.Flags())
	f.worktree.define(root.Flags())
	// cobra's own version flag uses text/template, which keeps the linker from removing
	// unused methods: the program would be a tenth larger.
	root.Flags().BoolVarP(&tell, "version", "v", false, "version for settle")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(mistakenFlag)
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(groupSetup)
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd, cmd.Long+"\n\n"+cmd.UsageString()) })
	root.AddGroup(commandGroups()...)
	add(
		root, groupSessions, newRun(s), newResume(s), newAttach(s), newSessions(s), newJobs(s), newApprovals(s),
		newRewind(s), newCompact(s), newReview(s), newUsage(s), newServe(s),
	)
	add(
		root,
		groupSetup,
		newDemo(s),
		newSetup(s),
		newDoctor(s),
		newConfig(s),
		newModels(s),
		newPrompt(s),
		newMCPServers(s),
		newSkills(s),
		newAgents(s),
		newHooks(s),
		newPlugins(s),
		newUpdate(s),
		newVersion(s),
	)
	add(root, groupClients, newACP(s), newMCP(s))
	add(root, groupCompatibility, newExec(s), newAppServer(s), newExecServer(s), newClaude(s))
	add(root, groupTools, newExecutor(s), newFakeModel(s), newCheckEndings(s))
	root.AddCommand(newFlagsTopic())
	cobra.EnableCommandSorting = false // the help lists commands in order of use
	explainArguments(root)
	return root
}
