package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/face/mcp"
	"github.com/settle-agent/settle/internal/prompt"
)

const mcpHelp = `Serve clients of the Model Context Protocol: editors, desktop programs and other
agents, for which settle is then a tool.

The tools are run, reply, interrupt, status and sessions. An interrupt is answered
when the turn has ended and nothing of it runs any more, with the reason; a
request that the client cancels ends its turn and is not answered, as the
protocol asks. Beside them, the older requests of Codex's MCP server are
understood: newConversation, sendUserMessage, addConversationListener,
interruptConversation and their relatives.

Calls that could change something are asked about if the client takes
elicitations; if it does not, they are not allowed. --permission or
SETTLE_PERMISSION says otherwise.

It ends when standard input does, when nobody reads standard output any more,
when the program that started it is gone, or with SIGTERM or Ctrl-C: all turns
are ended, and within a second and a half nothing of them is left.

Exit codes: 0 everything ended, 1 something did not, 2 wrong usage.`

const mcpExamples = `  settle mcp
  settle mcp --permission allow -m anthropic/claude-sonnet-4-5 -C ~/project`

// mcpFlags are the flags of mcp that are no settings.
type mcpFlags struct {
	dir             string
	noProjectConfig bool
	systemFile      string
	appendFile      string
}

func newMCP(s *streams) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use: "mcp [flags]", Short: "Serve clients of the Model Context Protocol", Long: mcpHelp, Example: mcpExamples,
		Args: cobra.NoArgs, GroupID: standIns,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s) },
	}
	flags := cmd.Flags()
	settingFlags(flags)
	flags.Lookup("permission").Usage = "what calls that change something may do, as `POLICY`: ask, allow or deny"
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`, unless the client names another")
	flags.BoolVar(&f.noProjectConfig, "no-project-config", false, "leave out the project's own configuration and AGENTS.md")
	flags.StringVar(&f.systemFile, "system-prompt-file", "", "use the text of `FILE` as the system prompt")
	flags.StringVar(&f.appendFile, "append-system-prompt-file", "", "add the text of `FILE` to the system prompt")
	return cmd
}

func (f *mcpFlags) serve(cmd *cobra.Command, s *streams) error {
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	o := agent.Options{Face: "mcp", Permission: settle.Ask, Attended: true, SystemFile: f.systemFile, AppendFile: f.appendFile}
	if f.noProjectConfig {
		o.Project = prompt.IgnoreProject
	}
	in := s.standIn(cmd, o)
	defer in.release()
	if a, err := in.hosts.Agent(in.ctx, agent.Wish{Dir: dir}); err != nil {
		s.say(err) // each run will say so, too: a client may name another model or directory
	} else {
		for _, note := range a.Notes {
			s.say(errors.New(note))
		}
	}
	face := mcp.New(mcp.Options{Hosts: in.hosts, Dir: dir, Version: version()})
	err = face.Stdio(s.stdin, s.stdout, in.stops)
	return failed(errors.Join(err, face.Close()))
}
