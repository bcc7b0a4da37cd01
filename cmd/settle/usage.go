package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/terminal"
)

// Groups of commands in the help of settle, in order of use.
const (
	groupSessions      = "sessions"
	groupSetup         = "setup"
	groupClients       = "clients"
	groupCompatibility = "compatibility"
	groupTools         = "tools"
)

func commandGroups() []*cobra.Group {
	return []*cobra.Group{
		{ID: groupSessions, Title: "Work with sessions:"},
		{ID: groupSetup, Title: "Set settle up:"},
		{ID: groupClients, Title: "Serve editors and other programs:"},
		{ID: groupCompatibility, Title: "Replace another agent for its clients:"},
		{ID: groupTools, Title: "Executors and tests:"},
	}
}

// add adds commands to a group of root, in order of use.
func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
}

// isRare reports whether the help of a command leaves out a flag. "settle help flags"
// and the reference have it.
func isRare(name string) bool {
	return slices.Contains([]string{
		"attempt-timeout", "compact", "data-dir", "executor-install", "executor-lease", "header-timeout", "keep-env",
		"log-level", "max-repeats", "max-session-cost", "max-session-steps", "max-session-time", "max-session-tokens",
		"max-tokens", "mcp-import", "pass-env", "retries", "retry-for", "rules-import", "run-hooks",
		"sandbox-allow-hosts", "sandbox-mode", "stall-timeout", "system-prompt-file", "thinking-timeout",
		"tool-family", "tools",
	}, name)
}

// printHelp prints help at the width of the terminal.
func printHelp(cmd *cobra.Command, text string) {
	w := cmd.OutOrStdout()
	fmt.Fprint(w, terminal.Fold(text, terminal.Columns(w)))
}

// printUsage prints the usage of a command: its subcommands by group, and its flags
// without the rare ones.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		if !cmd.Runnable() {
			fmt.Fprintf(w, "  %s COMMAND\n", cmd.CommandPath())
		}
		printCommands(w, cmd)
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	rare, settings := 0, cmd.Flags().Lookup("model") != nil
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if settings && isRare(f.Name) && !f.Hidden {
			rare++
			return
		}
		shown.AddFlag(f)
	})
	if shown.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", flagUsages(shown))
	}
	if rare > 0 {
		fmt.Fprintf(w, "\n%d more flags are for rare needs: \"settle help flags\" lists them.\n", rare)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\"%s COMMAND --help\" explains a command.\n", cmd.CommandPath())
	}
	return nil
}

// optionalValue matches the value of a flag that can be left out, with its default.
var optionalValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` ([\w/]+)\[=[^\]\n]*\]`) })

// flagUsages describes the flags. A value that can be left out is written "[=VALUE]".
func flagUsages(flags *pflag.FlagSet) string {
	return optionalValue().ReplaceAllStringFunc(flags.FlagUsages(), func(text string) string {
		name, _, _ := strings.Cut(text[1:], "[")
		return fmt.Sprintf("%-*s", len(text), "[="+name+"]")
	})
}

func printCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s  %s\n", cmd.Commands()[0].NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
}

const flagsHelp = `All flags that are settings, and that most commands accept which run a model. Each
has a key of the same name in the configuration file, with "_" for "-"; docs/reference/settings.md
explains them. A flag takes precedence over the file.`

// newFlagsTopic returns the help topic that lists all setting flags.
func newFlagsTopic() *cobra.Command {
	topic := &cobra.Command{Use: "flags", Short: "List all flags that are settings", Long: flagsHelp}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		settingFlags(flags)
		printHelp(cmd, fmt.Sprintf("%s\n\nFlags:\n%s", cmd.Long, strings.TrimLeft(flagUsages(flags), "\n")))
	})
	return topic
}
