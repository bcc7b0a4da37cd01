package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"

	"github.com/settle-agent/settle/internal/terminal"
)

// permissionText describes the calls that a session can run without asking.
func permissionText(opened event.SessionOpened) string {
	words := event.OneModeSentence(string(opened.Permission), opened.Confinement)
	if opened.Permission == event.Allow {
		words += " (use --permission ask to be asked)"
	}
	return words
}

// Close implements [oneturn.StderrView]. It prints the outcome and the cost, and below it the
// command that resumes the session.
func (s *textView) Close(resume string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil || !s.stream || s.volume == Quiet {
		return false
	}
	line := s.ended.how + " after " + terminal.Duration(s.ended.elapsed) + ": " + strings.Join(s.ended.spent, ", ")
	line = terminal.OneLine(line)
	if resume != "" {
		line += "; continue with:"
	}
	line = s.folded(line)
	if resume != "" {
		line += "\n  " + terminal.OneLine(resume) // a line of its own, to be copied
	}
	s.erase()
	s.breakLine()
	s.print(s.err, s.styled(s.ended.style, line)+"\n")
	return true
}

// Clear implements [oneturn.StderrView].
func (s *textView) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// ending describes the end of a turn.
type ending struct {
	how     string
	style   terminal.Style
	elapsed time.Duration
	spent   []string // as of [transcript.SpentIn]
}

// turnEnded keeps how the turn ended, for the closing line.
func (s *textView) turnEnded(t *event.Turn) {
	s.ended = &ending{
		how: event.EndingWords(t.Cause.Outcome, t.Cause.Reason), style: color(terminal.Green),
		elapsed: t.EndedAt.Sub(t.StartedAt),
		spent:   transcript.SpentIn(t),
	}
	switch t.Cause.Outcome {
	case event.Aborted:
		s.ended.style = color(terminal.Yellow)
	case event.Failed:
		s.ended.style = color(terminal.Red)
	}
	s.finished = true
	s.erase()
}

// maxDiff is the number of shown lines of a call's changes.
const maxDiff = 40

// plan shows the plan that a call has set.
func (s *textView) plan(c event.Content) {
	if !s.stream || s.volume == Quiet || toolview.KindOf(c.Name) != toolview.Plan {
		return
	}
	for _, step := range toolview.New(c.Name, c.RanWith(), "").Plan.Plan {
		s.put(s.folded("  " + step.Mark() + " " + terminal.OneLine(step.Step)))
	}
}

// diff shows the changes of a call to files.
func (s *textView) diff(item string, c event.Content) {
	if !s.stream || s.volume == Quiet || toolview.KindOf(c.Name) != toolview.Edit || len(c.Detail) == 0 {
		return
	}
	left, changes := maxDiff, toolview.New(c.Name, c.RanWith(), "").Changes(c.Detail)
	if s.wereShown(item, changes) {
		return
	}
	for _, change := range changes {
		s.put("  " + s.styled(bold(), fmt.Sprintf("%s (%s)", terminal.OneLine(change.Path), change.Kind)))
		for line := range strings.Lines(change.Body()) {
			if left--; left < 0 {
				s.put("  … more changes: settle sessions show")
				return
			}
			s.put("  " + s.styled(diffStyle(line), strings.TrimRight(line, "\r\n")))
		}
	}
}

func diffStyle(line string) terminal.Style {
	switch line[0] {
	case '+':
		return color(terminal.Green)
	case '-':
		return color(terminal.Red)
	case '@':
		return color(terminal.Cyan)
	}
	return faint()
}

func faint() terminal.Style                 { return terminal.Style{Attr: terminal.Faint} }
func bold() terminal.Style                  { return terminal.Style{Attr: terminal.Bold} }
func color(c terminal.Color) terminal.Style { return terminal.Style{Color: c} }
