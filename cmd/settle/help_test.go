package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/terminal"
)

// The help of each command fits a terminal of 80 columns, and no word is split; an address
// can be longer than its column.
func TestHelpFits80Columns(t *testing.T) {
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		text := cmd.Long + "\n\n" + cmd.UsageString()
		folded := terminal.Fold(text, 80)
		for line := range strings.Lines(folded) {
			if width := terminal.TextWidth(strings.TrimSuffix(line, "\n")); width > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), width, line)
			}
		}
		long := slices.ContainsFunc(strings.Fields(text), func(word string) bool { return len(word) > 40 })
		if !long && !slices.Equal(strings.Fields(folded), strings.Fields(text)) {
			t.Errorf("%s: a word is split", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot(&streams{}))
}
