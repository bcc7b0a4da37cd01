package tui

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// quickShell returns the command as its output, and fails if the command is "false".
type quickShell struct{ slowShell }

func (q quickShell) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Command string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, err
	}
	code := 0
	switch args.Command {
	case "wait":
		return q.slowShell.Run(ctx, call)
	case "false":
		code = 3
	}
	return tool.Result{Output: "ran " + args.Command + "\n", ExitCode: &code, Failed: code > 0}, nil
}

// A command after an exclamation mark runs at once and asks nobody; Esc ends it; behind a
// turn it waits and can be taken back.
func TestShellCommandEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonWith(
			t, "/w", quickShell{}, Options{}, script.Turn(script.Text("I saw it.")), script.Turn(script.Stall()),
		)
		p.types("!git status\r")
		p.sees("! git status  ✓ 0 ms", "  │ ran git status")
		p.misses("✓ git", "▌ git status")
		p.types("! false\r")
		p.sees("! false  ✗ exit code 3, 0 ms")
		p.types("!wait\r")
		p.sees("● ! wait", "│ counting", "working")
		p.types("\x1b")
		p.sees("! wait  ■ interrupted", "■ interrupted after")
		p.types("what was that?\r")
		p.sees("▌ what was that?", "I saw it.", "✓ ")
		p.types("go\r")
		p.types("!pwd\r")
		p.sees("↳ waits for the end: !pwd")
		p.types("\x1b[1;3A")
		p.sees("> !pwd")
		p.types("\x03\x1b")
		p.types("\x03\x04")
		p.left(code, 0)
	})
}
