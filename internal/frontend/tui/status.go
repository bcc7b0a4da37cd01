package tui

import (
	"fmt"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

// status returns the status row. It shows a clock only while something runs.
func (u *UI) status(width int, now time.Time) []terminal.Line {
	var line terminal.Line
	add := func(text string, style terminal.Style) {
		if len(line) > 0 {
			line = append(line, terminal.Span{Text: " · ", Style: faint()})
		}
		line = append(line, terminal.Span{Text: terminal.OneLine(text), Style: style})
	}
	if mode := u.input.vi.mode(); mode != "" {
		add(mode, bold())
	}
	if u.display.hint != "" {
		add(u.display.hint, warning())
	} else if doing, style := u.doing(now); doing != "" {
		add(doing, style)
	}
	for _, part := range u.about() {
		add(part, faint())
	}
	return []terminal.Line{terminal.Clip(line, width)}
}

// doing describes the activity of the running turn.
func (u *UI) doing(now time.Time) (string, terminal.Style) {
	t := u.state().Running()
	switch {
	case u.exit.leaving && hostOf(u.view.conversation) != "":
		return "leaving", warning()
	case u.exit.leaving:
		return "ending everything", warning()
	case t == nil:
		return "", faint()
	case t.Interrupt != nil || u.interrupts.turn == t.ID:
		return "interrupting", warning()
	}
	if n := len(t.Attempts); n > 0 {
		if a := t.Attempts[n-1]; a.End != nil && a.End.RetryIn != nil {
			left := a.EndedAt.Add(time.Duration(*a.End.RetryIn) * time.Millisecond).Sub(now)
			return fmt.Sprintf("retrying in %s (Esc interrupts)", span(max(left.Round(time.Second), 0))), warning()
		}
	}
	if took := now.Sub(t.StartedAt).Truncate(time.Second); took >= time.Second {
		return "working " + span(took) + " (Esc interrupts)", accent()
	}
	return "working (Esc interrupts)", accent()
}

// about describes the session: host, model, mode, context, jobs and directory.
func (u *UI) about() []string {
	var about []string
	if host := hostOf(u.view.conversation); host != "" && !u.view.lost {
		about = append(about, "attached to "+host)
	}
	about = append(about, u.view.conversation.Model())
	if effort := u.view.conversation.Effort(); effort != "" {
		about = append(about, effort+" effort")
	}
	mode := u.view.conversation.Mode()
	if words, ok := modes()[mode]; ok {
		mode = words
	}
	about = append(about, mode)
	if used := u.used(); used > 0 {
		if window := u.view.conversation.Window(); window > 0 {
			about = append(about, fmt.Sprintf("context %d%%", used*100/int64(window)))
		} else {
			about = append(about, terminal.Tokens(used)+" tokens of context")
		}
	}
	if jobs := u.jobs(); jobs > 0 {
		about = append(about, terminal.Count(jobs, "job"))
	}
	return append(about, u.Place)
}

// modes describes the permission modes.
func modes() map[string]string {
	return map[string]string{
		"ask": "asks before changes", "accept-edits": "edits without asking", "read-only": "read-only",
		"allow": "runs without asking",
	}
}

// used is how many tokens the last response left in the context.
func (u *UI) used() int64 {
	turns := u.state().Turns
	for n := len(turns) - 1; n >= 0; n-- {
		for m := len(turns[n].Attempts) - 1; m >= 0; m-- {
			if end := turns[n].Attempts[m].End; end != nil && end.Usage.Input > 0 {
				return end.Usage.Total()
			}
		}
	}
	return 0
}

func (u *UI) jobs() (n int) {
	for _, j := range u.state().Jobs {
		if j.Ended == nil {
			n++
		}
	}
	return n
}
