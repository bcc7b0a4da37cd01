package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestPromptOfTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		args         []string
		prompt, name string // name of a worktree
		mistake      string // words of the error
	}{
		{args: []string{"fix it"}, prompt: "fix it"},
		{args: []string{"--", "hello"}, prompt: "hello"},
		{args: []string{"--", "run", "it"}, prompt: "run it"},
		{args: []string{"--worktree", "x"}, name: "x"},
		{args: []string{"--worktree", "x", "--", "hello"}, prompt: "hello", name: "x"},
		{args: []string{"--worktree", "--", "hello"}, prompt: "hello", name: noWorktreeName},
		{args: []string{"hello"}, mistake: "in a terminal: settle -- hello; elsewhere: settle run \"hello\""},
		{args: []string{"fix", "it"}, mistake: "in a terminal: settle \"fix it\"; elsewhere: settle run \"fix it\""},
		{args: []string{"resme"}, mistake: "did you mean \"resume\"?; as a prompt"},
	} {
		var got string
		var worktree worktreeFlag
		root := &cobra.Command{Use: "settle", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(&cobra.Command{Use: "resume", Run: func(*cobra.Command, []string) {}})
		root.Args = func(cmd *cobra.Command, args []string) (err error) {
			got, err = promptOf(cmd, args, &worktree)
			return err
		}
		root.Run = func(*cobra.Command, []string) {}
		worktree.define(root.Flags())
		root.SetArgs(tt.args)
		err := root.Execute()
		if (err != nil) != (tt.mistake != "") || err != nil && !strings.Contains(err.Error(), tt.mistake) {
			t.Errorf("%q: %v", tt.args, err)
		}
		if got != tt.prompt || worktree.value != tt.name {
			t.Errorf("%q: prompt %q in worktree %q", tt.args, got, worktree.value)
		}
	}
}

// A word after a flag whose value can be left out is no silent part of the prompt if it could be the value.
func TestValueSeparatedBySpaceIsRefused(t *testing.T) {
	for args, refused := range map[string]string{ // the flag with its value, as the error advises it
		"--worktree foo|write a file":      "--worktree=foo",
		"--worktree foo -":                 "--worktree=foo",
		"foo --worktree bar baz":           "--worktree=bar",
		"bar --worktree bar baz":           "--worktree=bar",
		"--worktree foo -- bar":            "--worktree=foo",
		"--worktree foo -q bar":            "--worktree=foo",
		"--worktree several words":         "--worktree=several",
		"--json deltas|fix it":             "--json=deltas",
		"fix it --json deltas":             "--json=deltas",
		"--executor-install never it":      "--executor-install=never",
		"several words":                    "",
		"fix the test --worktree":          "",
		"bar --worktree bar":               "",
		"--worktree fix":                   "",
		"--worktree fix -m model":          "",
		"--worktree -q fix it":             "",
		"--worktree|fix the test":          "",
		"--worktree=foo bar baz":           "",
		"--worktree -- foo bar":            "",
		"foo --worktree -- foo bar":        "",
		"-- --worktree foo bar":            "",
		"--worktree what's up":             "",
		"--worktree fix: it":               "",
		"--worktree -":                     "",
		"--json=deltas deltas of rivers":   "",
		"--json several words":             "",
		"deltas of rivers --json":          "",
		"--executor-install=never missing": "",
	} {
		first, rest, isTwo := strings.Cut(args, "|") // the second part is one argument
		words := strings.Fields(first)
		if isTwo {
			words = append(words, rest)
		}
		var f runFlags
		cmd := &cobra.Command{
			Use: "run", SilenceErrors: true, SilenceUsage: true,
			RunE: func(cmd *cobra.Command, args []string) error { return separated(cmd, words, args) },
		}
		settingFlags(cmd.Flags())
		f.define(cmd.Flags())
		cmd.SetArgs(words)
		err := cmd.Execute()
		if refused == "" && err == nil {
			continue
		}
		flag, word, _ := strings.Cut(refused, "=")
		want := fmt.Sprintf("%s %s: write %s if %q is its value; if %[4]q is part of the prompt, put -- before "+
			"the prompt, or put it into quotes", flag, word, refused, word)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %q", words, err, want)
		}
	}
}

// Flags that exclude or need each other are refused in settle's words.
func TestFlagsApart(t *testing.T) {
	for args, want := range map[string]string{
		"--detach --resume-crashed":     "--detach and --resume-crashed: give one of them",
		"--session a --last --resume b": "--last, --resume and --session: give one of them",
		"--tls-cert a":                  "--tls-cert and --tls-key: give all of them, or none",
		"--detach":                      "",
	} {
		cmd := &cobra.Command{
			Use: "settle", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil },
		}
		for _, name := range []string{"detach", "resume-crashed", "last"} {
			cmd.Flags().Bool(name, false, "")
		}
		for _, name := range []string{"session", "resume", "tls-cert", "tls-key"} {
			cmd.Flags().String(name, "", "")
		}
		cmd.MarkFlagsMutuallyExclusive("detach", "resume-crashed")
		cmd.MarkFlagsMutuallyExclusive("session", "resume", "last")
		cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
		explainArguments(cmd)
		cmd.SetArgs(strings.Fields(args))
		got := ""
		if err := cmd.Execute(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
