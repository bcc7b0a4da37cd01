package main

import (
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
	for args, refused := range map[string]bool{
		"--worktree foo|write a file":      true,
		"--worktree foo -":                 true,
		"foo --worktree bar baz":           true,
		"--worktree foo -- bar":            true,
		"--worktree several words":         true,
		"--json deltas|fix it":             true,
		"--executor-install never it":      true,
		"several words":                    false,
		"--worktree fix":                   false,
		"--worktree|fix the test":          false,
		"--worktree=foo bar baz":           false,
		"--worktree -- foo bar":            false,
		"--worktree what's up":             false,
		"--worktree fix: it":               false,
		"--worktree -":                     false,
		"--json=deltas deltas of rivers":   false,
		"--json several words":             false,
		"--executor-install=never missing": false,
	} {
		var f runFlags
		cmd := &cobra.Command{Use: "run", SilenceErrors: true, SilenceUsage: true, RunE: separated}
		settingFlags(cmd.Flags())
		f.define(cmd.Flags())
		first, rest, isTwo := strings.Cut(args, "|") // the second part is one argument
		words := strings.Fields(first)
		if isTwo {
			words = append(words, rest)
		}
		cmd.SetArgs(words)
		if err := cmd.Execute(); (err != nil) != refused {
			t.Errorf("%q: %v", words, err)
		}
	}
}
