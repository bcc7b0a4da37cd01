package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/frontend/compat/claude"
	"github.com/settle-agent/settle/internal/redact"
)

const claudeHelp = `Replace Claude Code for programs that drive it: the Claude Agent SDK, or scripts
that call "claude -p". It takes the same arguments and speaks the same JSON on
standard input and output. A link to settle named claude does the same.

With --input-format stream-json it answers every prompt from standard input, each
with its own result, and exits at the end of input. Otherwise it answers one
prompt. A warning on standard error names what settle does not support, such as
plugins. docs/clients/claude-sdk.md has the details.

The exit code reports the last turn, as in "settle run".`

const claudeExamples = `  settle claude -p "what does this project do?"
  settle claude -p --output-format json "fix the failing test" --permission-mode acceptEdits
  ln -s "$(command -v settle)" ~/bin/claude`

// claudeFlags are the flags of claude that are not settings.
type claudeFlags struct {
	claude.Options
	dir                       string
	input, output             string
	print, version            bool
	bypass                    bool
	prompter                  string
	allowed, disallowed, dirs []string
	servers                   []string
	settings                  string
	system, systemFile        string
	appendText, appendFile    string
	sources, thinking         string
}

func newClaude(s *streams) *cobra.Command {
	var f claudeFlags
	cmd := &cobra.Command{
		Use: "claude [flags] [PROMPT]", Short: "Replace Claude Code, for programs that use the Claude Agent SDK",
		Long: claudeHelp, Example: claudeExamples,
		DisableFlagParsing: true, // the syntax of Claude's flags differs
	}
	f.define(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := f.run(cmd, s, args)
		why, exit := err, (*exitError)(nil)
		if errors.As(err, &exit) {
			why = exit.err // nil if the command has printed it
		}
		if why != nil {
			_, _ = s.stdout.Write(
				claude.Refusal(claude.Format(f.output), redact.Diagnostic(why.Error())),
			) // the exit code reports the error in any case
		}
		return err
	}
	return cmd
}

func (f *claudeFlags) run(cmd *cobra.Command, s *streams, args []string) error {
	flags := cmd.Flags()
	normal, warnings := claude.Arguments(flags, args)
	if err := flags.Parse(normal); err != nil {
		return fmt.Errorf("%w; see %q", err, cmd.CommandPath()+" --help")
	}
	if help, err := flags.GetBool("help"); help && err == nil {
		return cmd.Help()
	}
	f.Warnings = warnings
	if f.version {
		_, err := fmt.Fprintf(s.stdout, "%s-settle (settle %s, replaces Claude Code)\n", claude.Imitated, version())
		return err
	}
	code, err := f.serve(cmd, s, flags.Args())
	if err == nil && code != stdio.CodeCompleted {
		return &exitError{code: code} // the command has printed the cause
	}
	return err
}

func (f *claudeFlags) define(flags *pflag.FlagSet) {
	settingFlags(flags)
	flags.Lookup("model").Usage = "use the model `PROVIDER/NAME`, or a Claude name"
	flags.Lookup("tools").Usage = "Claude's `NAMES` of the tools to offer: Bash,Read; empty: none"
	flags.BoolVarP(&f.print, "print", "p", false, "answer one prompt and exit")
	flags.StringVar(&f.input, "input-format", "text", "`FORMAT` of standard input: text or stream-json")
	flags.StringVar(&f.output, "output-format", "text", "`FORMAT` of standard output: text, json or stream-json")
	flags.BoolVar(&f.Partial, "include-partial-messages", false, "also send deltas")
	flags.BoolVar(&f.Replay, "replay-user-messages", false, "repeat prompts when they are accepted")
	flags.StringVar(
		&f.Mode,
		"permission-mode",
		"",
		"permission `MODE`: default, acceptEdits, plan, bypassPermissions or dontAsk",
	)
	flags.BoolVar(
		&f.bypass, "dangerously-skip-permissions", false,
		"allow everything; same as --permission-mode bypassPermissions",
	)
	flags.BoolVar(
		&f.MayBypass, "allow-dangerously-skip-permissions", false, "let the client choose bypassPermissions later",
	)
	flags.StringVar(
		&f.prompter,
		"permission-prompt-tool",
		"",
		"whom to ask for permission, as `NAME`: stdio is the client",
	)
	flags.StringArrayVar(&f.allowed, "allowed-tools", nil, "calls to allow, as `RULES`: Read, \"Bash(git log:*)\"")
	flags.StringArrayVar(&f.disallowed, "disallowed-tools", nil, "calls to deny, as `RULES`")
	flags.StringArrayVar(&f.dirs, "add-dir", nil, "let the model also read `DIR`")
	flags.StringArrayVar(&f.servers, "mcp-config", nil, "add MCP servers, as `JSON` or a file")
	flags.BoolVar(&f.OnlyServers, "strict-mcp-config", false, "use only the MCP servers of --mcp-config")
	flags.StringVar(&f.MaxBudget, "max-budget-usd", "", "same as --max-cost: end a turn when it has cost `USD` dollars")
	flags.StringVar(&f.MaxTurns, "max-turns", "", "same as --max-steps: end a turn after `N` model responses")
	flags.StringVar(&f.system, "system-prompt", "", "replace the system prompt with `TEXT`")
	flags.StringVar(&f.appendText, "append-system-prompt", "", "append `TEXT` to the system prompt")
	flags.StringVar(&f.systemFile, "system-prompt-file", "", "replace the system prompt with the text of `FILE`")
	flags.StringVar(&f.appendFile, "append-system-prompt-file", "", "append the text of `FILE` to the system prompt")
	flags.StringVarP(&f.Resume, "resume", "r", "", "continue the session `ID`, or the unique prefix of a UUID")
	flags.BoolVarP(&f.Continue, "continue", "c", false, "continue the last session of this directory")
	flags.BoolVar(&f.Fork, "fork-session", false, "with --resume or --continue: continue in a copy of the session")
	flags.StringVar(&f.SessionID, "session-id", "", "create a session with this `UUID`")
	flags.BoolVar(&f.Ephemeral, "no-session-persistence", false, "do not keep the session")
	flags.StringVar(&f.Schema, "json-schema", "", "ask for an answer that follows this JSON `SCHEMA`")
	flags.StringVar(
		&f.settings,
		"settings",
		"",
		"take permissions and the model from Claude settings, as `JSON` or a file",
	)
	flags.StringVar(
		&f.sources,
		"setting-sources",
		"user,project",
		"`NAMES` of setting sources; without project, ignore the project's configuration, and without user, your own instructions",
	)
	flags.StringVar(&f.thinking, "thinking", "", "thinking `MODE`: adaptive or disabled")
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`")
	flags.BoolVarP(&f.version, "version", "v", false, "print the version and exit")
}

// serve connects a client to settle. An error means that settle called no model.
func (f *claudeFlags) serve(cmd *cobra.Command, s *streams, args []string) (int, error) {
	dir, err := directory(f.dir)
	if err != nil {
		return 0, err
	}
	if err := f.options(cmd.Flags(), dir, s.getenv); err != nil {
		return 0, err
	}
	o := assemble.Options{
		HostOptions:       assemble.HostOptions{Frontend: "claude", AtEnd: settle.AwaitTasks},
		PermissionOptions: assemble.PermissionOptions{Permission: settle.Ask},
		PromptOptions:     assemble.PromptOptions{SystemFile: f.systemFile, AppendFile: f.appendFile},
	}
	if !slices.Contains(strings.Split(f.sources, ","), "project") {
		o.Project = assemble.IgnoreProject
	}
	if !slices.Contains(strings.Split(f.sources, ","), "user") {
		o.Instructions = assemble.IgnoreHome
		if err := cmd.Flags().Set("rules-import", ""); err != nil {
			return 0, err
		}
	}
	in := s.protocolServer(cmd, o)
	defer in.release()
	switch {
	case f.Input != claude.StreamJSON:
		if f.Prompt, _, err = oneturn.Prompt(in.ctx, args, s.stdin, isTerminal(s.stdin)); err != nil {
			return 0, in.instead(errors.Join(err, warned(f.Warnings)))
		}
	case len(args) > 0:
		f.Warnings = append(
			f.Warnings,
			"the prompt on the command line is ignored: with --input-format stream-json, prompts come from standard input",
		)
	}
	return claude.Serve(in.ctx, claude.Config{
		Options:  f.Options,
		Sessions: in.hosts,
		Dir:      dir,
		Stdin:    s.stdin,
		Stdout:   s.stdout,
		Stderr:   s.stderr,
		Stops:    in.stops,
		States:   s.getenv("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1" && f.Output == claude.StreamJSON,
		Version:  version(),
		Mask:     redact.Diagnostic,
		Exit:     os.Exit,
	}), nil
}

// warned returns warnings as an error, nil if there are none. They accompany another
// error, since an unknown flag can have taken the prompt as its value.
func warned(warnings []string) error {
	var all []error
	for _, text := range warnings {
		all = append(all, errors.New("warning: "+text))
	}
	return errors.Join(all...)
}

// options translates the flags into the frontend's options.
func (f *claudeFlags) options(flags *pflag.FlagSet, dir string, getenv func(string) string) error {
	f.Input, f.Output = claude.Format(f.input), claude.Format(f.output)
	formats := []claude.Format{claude.Text, claude.JSON, claude.StreamJSON}
	switch {
	case f.Input != claude.Text && f.Input != claude.StreamJSON:
		return fmt.Errorf("--input-format %s: use text or stream-json", f.input)
	case !slices.Contains(formats, f.Output):
		return fmt.Errorf("--output-format %s: use text, json or stream-json", f.output)
	case f.Input == claude.StreamJSON && f.Output != claude.StreamJSON:
		return errors.New("--input-format stream-json requires --output-format stream-json")
	case f.Fork && f.Resume == "" && !f.Continue:
		return errors.New("--fork-session needs --resume or --continue")
	case flags.Changed("resume") && f.Resume == "": // a variable that was not set must not mean a new session
		return errors.New("--resume: the session's id is empty; name one, or use --continue")
	}
	// These flags have the names of settings, with other values.
	if tools := flags.Lookup("tools"); tools.Changed {
		tools.Changed = false
		if text := tools.Value.String(); text != "default" {
			f.Tools = strings.Split(text, ",")
		}
	}
	model := flags.Lookup("model")
	f.Model, model.Changed = model.Value.String(), false
	fallback := flags.Lookup("fallback-model")
	f.Fallback, fallback.Changed = fallback.Value.String(), false
	if f.bypass {
		f.Mode, f.MayBypass = "bypassPermissions", true
	}
	if f.thinking == "disabled" && !flags.Changed("effort") {
		f.Effort = "none"
	}
	if f.system != "" { // SDKs send an empty prompt where their user gave none
		f.System = &f.system
	}
	f.Append = f.appendText
	f.Allowed, f.Disallowed = f.allowed, f.disallowed
	for _, one := range f.dirs {
		f.AddDirs = append(f.AddDirs, disk.AbsoluteIn(dir, one))
	}
	for _, one := range f.servers {
		if err := f.TakeServers(one, dir, getenv); err != nil {
			return fmt.Errorf("--mcp-config: %w", err)
		}
	}
	if f.Asks = f.prompter == "stdio"; !f.Asks && f.prompter != "" {
		f.Warnings = append(
			f.Warnings,
			fmt.Sprintf(
				"--permission-prompt-tool %s has no effect: settle only supports stdio, the client", f.prompter,
			),
		)
	}
	if f.settings != "" {
		return f.Take(f.settings)
	}
	return nil
}
