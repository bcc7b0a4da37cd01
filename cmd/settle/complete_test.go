//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/modeltest"
)

// Every value that a shell is offered for a setting is one that settle takes.
func TestCompletedSettingsAreTaken(t *testing.T) {
	p := newPlace(t)
	config, _, err := newRoot(system()).Find([]string{"config"})
	if err != nil {
		t.Fatal(err)
	}
	completed := 0
	for _, f := range describe(config).Flags {
		if len(f.Choices) == 0 {
			continue
		}
		line := p.says("__complete", "config", "--"+f.Name, "")
		if got := strings.Split(strings.TrimSpace(line), "\n"); !slices.Equal(got[:len(got)-1], f.Choices) {
			t.Errorf("--%s is completed to %q, want %q", f.Name, got, f.Choices)
		}
		for _, value := range f.Choices {
			p.says("config", "--"+f.Name, value)
			completed++
		}
	}
	if completed < 15 {
		t.Errorf("only %d values", completed)
	}
}

// Models and sessions are completed too, the newest session first and with its title.
func TestCompletedNames(t *testing.T) {
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello."), modeltest.Say("Hello.")))
	for _, id := range []string{"first", "second"} {
		run := p.run(server, "--session", id, "the title of "+id)
		started(t, run)
		exited(t, run, 0)
	}
	want := "second\tthe title of second\nfirst\tthe title of first\n:36\n"
	for _, args := range [][]string{{"sessions", "show", ""}, {"run", "--resume", ""}, {"resume", ""}, {"rewind", ""}} {
		if got := p.says(append([]string{"__complete"}, args...)...); got != want {
			t.Errorf("%q is completed to %q", args, got)
		}
	}
	if got := p.says("__complete", "run", "-m", ""); !strings.Contains(got, "anthropic/claude-opus-5-5\n") ||
		!strings.Contains(got, "gemini/") {
		t.Errorf("models: %q", got)
	}
	if got := p.says("__complete", "jobs", "show", ""); strings.Contains(got, "first") {
		t.Errorf("sessions are no jobs: %q", got)
	}
}

// settle help --json has every command that is not hidden, and its flags.
func TestReferenceAsJSON(t *testing.T) {
	p := newPlace(t)
	var got command
	if err := json.Unmarshal([]byte(p.says("help", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	var count func(cmd *cobra.Command) int
	count = func(cmd *cobra.Command) int {
		n := 0
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				n += 1 + count(sub)
			}
		}
		return n
	}
	var listed func(c command) int
	listed = func(c command) int {
		n := len(c.Commands)
		for _, sub := range c.Commands {
			n += listed(sub)
		}
		return n
	}
	if n, want := listed(got), count(newRoot(system())); n < want || want < 20 {
		t.Errorf("%d commands, want %d", n, want)
	}
	if err := json.Unmarshal([]byte(p.says("help", "sessions", "show", "--json")), &got); err != nil ||
		got.Name != "settle sessions show" {
		t.Errorf("%v, %+v", err, got)
	}
}
