package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/config"
)

// known refuses arguments of a command that only has subcommands, and suggests the
// nearest subcommand.
func known(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf(
		"there is no command %q%s; %q lists the commands", cmd.CommandPath()+" "+args[0],
		config.DidYouMean(args[0], commandNames(cmd)), cmd.CommandPath()+" --help",
	)
}

// promptOf returns the prompt of the terminal: all words after "--", or one argument with a
// space. Another word is a mistaken command, or a prompt of one word.
func promptOf(cmd *cobra.Command, args []string, worktree *worktreeFlag) (string, error) {
	var words []string
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		args, words = args[:n], args[n:]
	}
	args = worktree.take(args)
	switch {
	case len(args) == 0:
		return strings.Join(words, " "), nil
	case len(args) == 1 && len(words) == 0 && strings.ContainsAny(args[0], " \t\n"):
		return args[0], nil
	}
	prompt := strings.Join(slices.Concat(args, words), " ")
	inTerminal := "settle -- " + prompt
	if strings.ContainsAny(prompt, " \t\n") {
		inTerminal = fmt.Sprintf("settle %q", prompt)
	}
	return "", fmt.Errorf(
		"there is no command %q%s; as a prompt in a terminal: %s; elsewhere: settle run %q; "+
			"\"settle --help\" lists the commands",
		args[0], config.DidYouMean(args[0], commandNames(cmd)), inTerminal, prompt,
	)
}

// separated refuses a value that is separated by a space from a flag whose value can be left out:
// it would become part of the prompt, as in "--json deltas PROMPT". raw are all arguments of the
// process, which show the word after the flag; args are the words of the prompt.
func separated(cmd *cobra.Command, raw, args []string) error {
	for _, flag := range []struct {
		name    string
		isValue func(word string, f *pflag.Flag) bool
	}{
		{"json", func(word string, _ *pflag.Flag) bool {
			return slices.Contains([]string{"events", "deltas"}, word)
		}},
		{"executor-install", func(word string, _ *pflag.Flag) bool {
			return slices.Contains([]string{config.InstallNever, config.InstallMissing}, word)
		}},
		{"worktree", func(word string, f *pflag.Flag) bool { // the last word can only be of the prompt
			w, ok := f.Value.(*worktreeFlag)
			return ok && branchName().MatchString(word) && len(args) > w.wordsBefore+1
		}},
	} {
		f := cmd.Flags().Lookup(flag.name)
		if f == nil || !f.Changed || f.Value.String() != f.NoOptDefVal {
			continue
		}
		word := following(raw, "--"+flag.name)
		if len(args) == 0 || !slices.Contains(args, word) || !flag.isValue(word, f) {
			continue
		}
		return fmt.Errorf(
			"--%s %s: write --%[1]s=%[2]s if %[2]q is its value; if %[2]q is part of the prompt, put -- before the "+
				"prompt, or put it into quotes", flag.name, word,
		)
	}
	return nil
}

// following returns the argument after the last bare flag; "" if there is none, or "--" is before it.
func following(raw []string, flag string) (word string) {
	for n, arg := range raw {
		switch {
		case arg == "--":
			return word
		case arg == flag && n+1 < len(raw):
			word = raw[n+1]
		case arg == flag:
			word = ""
		}
	}
	return word
}

// branchName matches texts that look like the name of a branch.
var branchName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\w[\w./-]*\w$|^\w$`) })

// cobraArguments matches cobra's errors about the number of arguments.
var cobraArguments = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(accepts|requires) .*arg\(s\)|^unknown command `)
})

// explainArguments replaces cobra's errors about the number of arguments, and about flags that exclude or need
// each other, for cmd and its subcommands.
func explainArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err != nil && cobraArguments().MatchString(err.Error()) {
				return wrongArguments(cmd, args)
			}
			return err
		}
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { // cobra checks the same after it
		return flagsApart(cmd.ValidateFlagGroups())
	}
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
}

// cobraGroups matches cobra's errors about flags that exclude or need each other.
var cobraGroups = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^if any flags in the group \[(.*)\] are set (?:none of the others can be; \[(.*)\] were all set|` +
			`they must all be set; missing \[.*\])$`,
	)
})

// flagsApart replaces cobra's errors about flags that exclude or need each other.
func flagsApart(err error) error {
	if err == nil {
		return nil
	}
	found := cobraGroups().FindStringSubmatch(err.Error())
	switch {
	case found == nil:
		return err
	case found[2] == "":
		return fmt.Errorf("%s: give all of them, or none", flagList(found[1]))
	}
	return fmt.Errorf("%s: give one of them", flagList(found[2]))
}

// flagList joins the names of flags, which have spaces between them.
func flagList(names string) string {
	list := strings.Fields(names)
	for n, name := range list {
		list[n] = "--" + name
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// wrongArguments names the missing argument or the one too many.
func wrongArguments(cmd *cobra.Command, args []string) error {
	var operands []string
	for word := range strings.FieldsSeq(cmd.Use) {
		if word = strings.Trim(word, "[]…"); word != cmd.Name() && word != "flags" {
			operands = append(operands, word)
		}
	}
	if len(args) >= len(operands) {
		return fmt.Errorf(
			"cannot run %q: unexpected argument %q; usage: %s", cmd.CommandPath(), args[len(operands)], cmd.UseLine(),
		)
	}
	hint := ""
	if parent := cmd.Parent(); operands[len(args)] == "ID" && parent.HasParent() {
		hint = fmt.Sprintf("; %q lists them", parent.CommandPath())
	}
	return fmt.Errorf(
		"cannot run %q: no %s given%s; usage: %s", cmd.CommandPath(), operands[len(args)], hint, cmd.UseLine(),
	)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// mistakenFlag explains a wrong flag, and suggests the nearest flag.
func mistakenFlag(cmd *cobra.Command, err error) error {
	hint := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if use := elsewhere(cmd, unknown); use != "" {
			return fmt.Errorf("%w; use: %s; see %q", err, use, cmd.CommandPath()+" --help")
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		hint = config.DidYouMean("--"+unknown.GetSpecifiedName(), names)
		address := []string{"port", "listen", "host", "hostname", "bind"}
		if slices.Contains(address, unknown.GetSpecifiedName()) && cmd.Flags().Lookup("addr") != nil {
			hint = "; for an address and a port, use --addr 127.0.0.1:PORT"
		}
	}
	return fmt.Errorf("%w%s; see %q", err, hint, cmd.CommandPath()+" --help")
}

// elsewhere returns settle's command for a flag of other agents; "" for other flags.
func elsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	run := cmd.Name() == "run"
	if cmd.HasParent() && !run && cmd.Name() != "resume" {
		return ""
	}
	switch name {
	case "c", "continue", "r", "resume":
		if run {
			return "settle run --last PROMPT, or settle run --resume ID PROMPT"
		}
		return "settle resume [ID], or in a script settle run --last PROMPT"
	case "p", "print":
		return "settle run PROMPT"
	}
	return ""
}

// newHelp returns cobra's help command, with an error for an unknown topic.
func newHelp() *cobra.Command {
	var asJSON bool
	help := &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command",
		Long: "Explain a command, or settle itself. \"settle help COMMAND\" is the same as\n\"settle COMMAND --help\".",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				if asJSON {
					return failed(printReference(cmd.OutOrStdout(), topic))
				}
				topic.InitDefaultHelpFlag()
				return topic.Help()
			}
			word := args[len(args)-max(len(rest), 1)]
			if topic == nil {
				topic = cmd.Root()
			}
			names := commandNames(topic)
			slices.Sort(names)
			return fmt.Errorf(
				"there is no help on %q%s; the topics are: %s", strings.Join(args, " "), config.DidYouMean(word, names),
				strings.Join(names, ", "),
			)
		},
	}
	help.Flags().BoolVar(&asJSON, "json", false, "print the command, those below it and their flags as JSON")
	return help
}
