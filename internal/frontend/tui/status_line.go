package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
)

// statusDelay is the least time between the starts of two runs of the status command.
const statusDelay = 300 * time.Millisecond

// statusCommand is the state of the person's command for the status row: at most one run at a time,
// beside the loop. A run begins when a frame has another input for the command than the last run.
type statusCommand struct {
	// text is the row of its last run; empty until a run has succeeded. failure is the failure of the last run.
	text, failure string
	input         []byte // of the last run
	// stop ends the current run, and ended is closed when it has ended; nil without one.
	stop  context.CancelFunc
	ended chan struct{}
}

// runStatusCommand runs the command if its input has changed.
func (u *UI) runStatusCommand() {
	s := &u.display.status
	if u.StatusCommand == nil || s.stop != nil || u.exit.leaving {
		return
	}
	input := u.statusInput()
	if bytes.Equal(input, s.input) {
		return
	}
	ctx, cancel := context.WithCancel(u.ctx)
	ended := make(chan struct{})
	s.input, s.stop, s.ended = input, cancel, ended
	pause := time.NewTimer(statusDelay)
	go u.guarded(func() { // ends with the command, which is bounded; finish waits for it
		defer cancel()
		out, err := u.StatusCommand(ctx, input)
		close(ended)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		u.send(func() {
			s.stop, s.ended = nil, nil
			text := firstLine(ansi.Strip(out))
			failure := ""
			if err != nil {
				failure, text = firstLine(err.Error()), ""
			}
			if failure != "" && failure != s.failure {
				u.showHint("cannot run terminal.status_command: %s", failure)
			}
			s.failure = failure
			u.display.dirty = u.display.dirty || text != s.text || !bytes.Equal(u.statusInput(), s.input)
			s.text = text
		})
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return terminal.OneLine(strings.TrimSpace(line))
}

// endStatusCommand ends the current run, and waits for its end.
func (u *UI) endStatusCommand() {
	if s := &u.display.status; s.stop != nil {
		s.stop()
		select {
		case <-s.ended:
		case <-time.After(closeTimeout):
		}
	}
}

// statusInput returns the input of the status command: JSON with the field names that Claude Code's
// status command uses, and additional fields of settle.
func (u *UI) statusInput() []byte {
	c, s, sum := u.view.conversation, u.state(), transcript.Total(u.state())
	window, used := c.Window(), u.used()
	context := map[string]any{
		"context_window_size": window, "total_input_tokens": sum.Usage.Input, "total_output_tokens": sum.Usage.Output,
	}
	if window > 0 {
		percent := used * 100 / int64(window)
		context["used_percentage"], context["remaining_percentage"] = percent, max(100-percent, 0)
	}
	input := map[string]any{
		"session_id": c.ID(), "cwd": s.Host.Dir, "version": u.Version,
		"model":          map[string]any{"id": c.Model(), "display_name": c.Model()},
		"workspace":      map[string]any{"current_dir": s.Host.Dir, "project_dir": s.Host.Dir},
		"context_window": context, "permission_mode": c.Mode(), "jobs": u.jobs(), "activity": u.activity(),
	}
	if usd, known := sum.CostUSD(); known {
		input["cost"] = map[string]any{"total_cost_usd": usd}
	}
	if effort := c.Effort(); effort != "" {
		input["effort"] = map[string]any{"level": effort}
	}
	if mode := u.input.vi.mode(); mode != "" {
		mode, _, _ = strings.Cut(mode, " ")
		input["vim"] = map[string]any{"mode": mode}
	}
	data, err := json.Marshal(input)
	if err != nil { // it has only texts and numbers
		return nil
	}
	return append(data, '\n')
}

// activity returns the current activity of the session, in one word.
func (u *UI) activity() string {
	a, _ := u.pendingApproval()
	switch {
	case a != nil:
		return "asking"
	case u.state().Running() != nil:
		return "working"
	}
	return "idle"
}

// templateParts are the parts of the status row after the person's template. " · " separates parts: a part
// whose fields are all empty is left out, and the last parts go first where the row is too narrow.
func (u *UI) templateParts(template string, now time.Time) (parts []statusPart) {
	for n, segment := range strings.Split(template, " · ") {
		pieces, err := config.SplitTemplate(segment)
		if err != nil { // the settings are checked when they are read
			return []statusPart{{text: err.Error(), style: failure()}}
		}
		text, fields, filled := "", 0, false
		for _, p := range pieces {
			value := ""
			if p.Field != "" {
				fields++
				value = u.statusField(p.Field, now)
			}
			text += p.Text + value
			filled = filled || value != ""
		}
		if text = strings.TrimSpace(text); text != "" && (fields == 0 || filled) {
			parts = append(parts, statusPart{text: text, style: faint(), rank: n})
		}
	}
	return parts
}

// statusField is the value of a field of the template.
func (u *UI) statusField(name string, now time.Time) string {
	c := u.view.conversation
	mode, commands := event.PermissionWords(c.Mode(), u.state().Host.Confinement)
	used, window := u.used(), int64(c.Window())
	switch name {
	case "activity":
		text := ""
		for _, part := range u.doing(now) {
			text = strings.TrimSpace(text + " " + part.text)
		}
		return text
	case "host":
		return elsewhere(c, u.view.lost)
	case "model":
		return c.Model()
	case "effort":
		return c.Effort()
	case "permission":
		return mode
	case "commands":
		return commands
	case "context":
		if used > 0 && window > 0 {
			return fmt.Sprintf("%d%%", used*100/window)
		}
	case "tokens":
		if used > 0 {
			return terminal.Tokens(used)
		}
	case "cost":
		if usd, known := transcript.Total(u.state()).CostUSD(); known {
			return terminal.Dollars(usd)
		}
	case "jobs":
		if n := u.jobs(); n > 0 {
			return terminal.Count(n, "job")
		}
	case "directory":
		return u.placeIn(u.state())
	case "session":
		return c.ID()
	case "version":
		return u.Version
	}
	return ""
}
