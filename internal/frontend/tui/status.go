package tui

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// statusPart is a part of the status row. While the row is too wide, the part of the highest
// rank is shortened (shortRank, if it has a short text) or left out (rank).
type statusPart struct {
	text, short     string
	style           terminal.Style
	rank, shortRank int
	glued           bool // follows the part before it without a separator
}

// The ranks of the parts, from the most useful one; parts of rank 0 stay.
const (
	rankMode = iota + 1
	rankDir
	rankModeName // the permission is shortened to its name
	rankClock
	rankDirName // the directory is shortened to its last element
	rankHost
	rankJobs
	rankKey // how the turn is interrupted
	rankModel
	rankSandbox
	rankContext
	rankEffort
)

// next returns the rank at which the part changes next.
func (p *statusPart) next() int {
	if p.short != "" {
		return p.shortRank
	}
	return p.rank
}

// maxHintRows bounds a message above the status row.
const maxHintRows = 6

// status returns the status row, below a message that does not fit into it. It shows a
// clock only while something runs.
func (u *UI) status(width int, now time.Time) (rows []terminal.Line) {
	var parts []statusPart
	if mode := u.input.vi.mode(); mode != "" {
		parts = append(parts, statusPart{text: mode, style: bold()})
	}
	hint, about := terminal.OneLine(u.display.hint), u.aboutParts(now)
	inline := hint != "" && terminal.TextWidth(hint) <= width/2
	if hint != "" && !inline {
		rows = terminal.Wrap(terminal.Plain(hint, warning()), width, terminal.Indent{})
		rows = rows[:min(len(rows), maxHintRows)]
	}
	switch {
	case inline:
		parts = append(parts, statusPart{text: hint, style: warning()})
		about = slices.DeleteFunc(about, func(p statusPart) bool { return strings.HasSuffix(hint, ": "+p.text) })
	case !strings.Contains(u.StatusLine, "{activity}") || u.StatusCommand != nil:
		parts = append(parts, u.doing(now)...)
	}
	return append(rows, statusRow(append(parts, about...), width))
}

// aboutParts describes the session: by the person's command, the person's template, or as settle does.
func (u *UI) aboutParts(now time.Time) []statusPart {
	switch {
	case u.StatusCommand != nil && u.display.status.text != "":
		return []statusPart{{text: u.display.status.text, style: faint()}}
	case u.StatusCommand == nil && u.StatusLine != "":
		return u.templateParts(u.StatusLine, now)
	}
	return u.about()
}

// statusRow joins the parts that fit into the width.
func statusRow(parts []statusPart, width int) terminal.Line {
	for parts = slices.Clone(parts); ; {
		var line terminal.Line
		least := 0
		for i, p := range parts {
			separator := " · "
			if p.glued {
				separator = " "
			}
			if len(line) > 0 {
				line = append(line, terminal.Span{Text: separator, Style: faint()})
			}
			line = append(line, terminal.Span{Text: terminal.OneLine(p.text), Style: p.style})
			if p.next() > parts[least].next() {
				least = i
			}
		}
		if len(parts) < 2 || parts[least].next() == 0 || line.Width() <= width {
			return terminal.Clip(line, width)
		}
		if p := &parts[least]; p.short != "" {
			p.text, p.short = p.short, ""
			continue
		}
		parts = slices.Delete(parts, least, least+1)
	}
}

// doing describes the activity of the running turn, and how to end it.
func (u *UI) doing(now time.Time) []statusPart {
	t := u.state().Running()
	only := func(text string) []statusPart { return []statusPart{{text: text, style: warning()}} }
	stops := u.Keys.Label(keymap.Interrupt, "Ctrl-C") + " interrupts"
	clock := func(words, elapsed string, style terminal.Style) []statusPart {
		return []statusPart{
			{text: words + elapsed, short: words, style: style, shortRank: rankClock},
			{text: "(" + stops + ")", style: style, rank: rankKey, glued: true},
		}
	}
	switch {
	case u.view.lost && !u.exit.leaving:
		return only("the host has ended")
	case u.exit.leaving && hostOf(u.view.conversation) != "":
		return only("leaving")
	case u.exit.leaving:
		return only("ending everything")
	case t == nil:
		return nil
	case t.Interrupt != nil || u.interrupts.turn == t.ID:
		return only("interrupting")
	}
	if n := len(t.Attempts); n > 0 {
		if a := t.Attempts[n-1]; a.End != nil && a.End.RetryIn != nil {
			left := a.EndedAt.Add(time.Duration(*a.End.RetryIn) * time.Millisecond).Sub(now)
			return clock("retrying", " in "+span(max(left.Round(time.Second), 0)), warning())
		}
	}
	if a, _ := u.pendingApproval(); a != nil { // the model is silent because of it
		switch key := u.Keys.Label(keymap.Interrupt, "Esc"); {
		case isModelQuestion(a) && (u.questions.typed == nil || u.freeText(a)):
			stops = key + " declines"
		case u.questions.typed != nil:
			stops = key + " goes back"
		}
		return clock("waiting for you", elapsedWords(now.Sub(a.At)), warning())
	}
	if silent, ends := transcript.Silence(t, now); silent != "" {
		if ends != "" {
			ends = ", " + ends
		}
		return clock(silent, ends, warning())
	}
	return clock("working", elapsedWords(now.Sub(t.StartedAt)), accent())
}

// elapsedWords are whole seconds, after a space; empty below one.
func elapsedWords(elapsed time.Duration) string {
	if elapsed = elapsed.Truncate(time.Second); elapsed < time.Second {
		return ""
	}
	return " " + span(elapsed)
}

// about describes the session: host, model, permission, context, jobs and directory.
func (u *UI) about() (parts []statusPart) {
	add := func(text string, rank int) { parts = append(parts, statusPart{text: text, style: faint(), rank: rank}) }
	if host := elsewhere(u.view.conversation, u.view.lost); host != "" {
		add("attached to "+host, rankHost)
	}
	name := u.view.conversation.Model()
	parts = append(parts, statusPart{
		text: name, short: shorter(path.Base(name), name), style: faint(), rank: rankModel, shortRank: rankModel,
	})
	if effort := u.view.conversation.Effort(); effort != "" {
		add(effort+" effort", rankEffort)
	}
	mode, commands := event.PermissionWords(u.view.conversation.Mode(), u.state().Host.Confinement)
	parts = append(parts, statusPart{
		text: mode, short: shorter(event.ModeWords(u.view.conversation.Mode()), mode), style: faint(), rank: rankMode,
		shortRank: rankModeName,
	})
	if commands != "" {
		parts = append(parts, commandsPart(commands))
	}
	if used := u.used(); used > 0 {
		if window := u.view.conversation.Window(); window > 0 {
			add(fmt.Sprintf("context %d%%", used*100/int64(window)), rankContext)
		} else {
			add(terminal.Tokens(used)+" tokens of context", rankContext)
		}
	}
	if jobs := u.jobs(); jobs > 0 {
		add(terminal.Count(jobs, "job"), rankJobs)
	}
	place := u.placeIn(u.state())
	return append(parts, statusPart{
		text: place, short: filepath.Base(place), style: faint(), rank: rankDir, shortRank: rankDirName,
	})
}

// shorter returns the first text if it is shorter than the other one, else nothing.
func shorter(text, than string) string {
	if len(text) < len(than) {
		return text
	}
	return ""
}

// commandsPart describes the treatment of commands.
func commandsPart(words string) statusPart {
	short, _, _ := strings.Cut(words, " in this directory")
	return statusPart{text: words, short: short, style: faint(), rank: rankSandbox, shortRank: rankSandbox}
}

// permissionModes are the modes that a person can choose.
func permissionModes() []string {
	return []string{"ask", "accept-edits", "review", "read-only", planMode, "allow"}
}

// describeMode describes the effect of a mode on the session.
func (u *UI) describeMode(mode string) string {
	return event.PermissionSentence(mode, u.state().Host.Confinement)
}

// used returns the number of tokens in the context after the last response.
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
