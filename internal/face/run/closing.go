package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/printable"
)

// permissionText says what a permission lets calls do.
func permissionText(permission event.Permission) string {
	switch permission {
	case event.Allow:
		return "commands run and files change without asking (use --permission ask to be asked)"
	case event.Ask:
		return "you are asked before anything changes"
	case event.Deny:
		return "read-only: nothing may change"
	}
	return "permission: " + string(permission)
}

// closing writes the last line about a turn: how it ended, what it took, and how
// to go on. It reports whether there was one to write.
func (s *screen) closing(resume string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil || !s.stream || s.volume == Quiet {
		return false
	}
	line := s.ended.how + " after " + printable.Duration(s.ended.took) + ": " + summaryText(s.ended.sum)
	if resume != "" {
		line += "; continue with: " + resume
	}
	s.erase()
	s.breakLine()
	line = s.tty.paint(s.ended.paint, printable.Line(line)) + "\n"
	s.err.Write(func(b []byte) []byte { return append(b, line...) })
	s.err.Flush()
	return true
}

// clear takes the status back.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

// ending is how a turn ended.
type ending struct {
	how   string
	paint paint
	took  time.Duration
	sum   event.Summary
}

// turnEnded keeps how the turn ended, for the closing line.
func (s *screen) turnEnded(t *event.Turn) {
	s.ended = &ending{how: string(t.Cause.Outcome), paint: green, took: t.EndedAt.Sub(t.StartedAt), sum: t.Summary}
	switch t.Cause.Outcome {
	case event.Aborted:
		s.ended.how, s.ended.paint = string(t.Cause.Reason), yellow
	case event.Failed:
		s.ended.paint = red
	}
	s.over = true
	s.erase()
}

// summaryText says what a turn took.
func summaryText(sum event.Summary) string {
	parts := []string{printable.Count(sum.Attempts, "request")}
	if sum.Calls > 0 {
		parts = append(parts, printable.Count(sum.Calls, "call"))
	}
	if sum.Denied > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", sum.Denied))
	}
	if in := sum.Usage.Input; in > 0 {
		cached := ""
		if read := sum.Usage.CacheRead; read > 0 {
			cached = fmt.Sprintf(" (%d%% cached)", read*100/max(in, read))
		}
		parts = append(parts, printable.Tokens(in)+" tokens in"+cached, printable.Tokens(sum.Usage.Output)+" out")
	}
	return strings.Join(parts, ", ")
}

// mostDiff is how many lines of a call's changes are shown.
const mostDiff = 40

// diff shows what a call changed in files.
func (s *screen) diff(c event.Content) {
	var detail json.RawMessage = c.Detail
	if !s.stream || s.volume == Quiet || toolview.KindOf(c.Name) != toolview.Edit || len(detail) == 0 {
		return
	}
	left := mostDiff
	for _, change := range toolview.New(c.Name, c.Arguments, "").Changes(detail) {
		s.put("  " + s.tty.paint(bold, fmt.Sprintf("%s (%s)", printable.Line(change.Path), change.Kind)))
		for line := range strings.Lines(change.Body()) {
			if left--; left < 0 {
				s.put("  … more changes: settle sessions show")
				return
			}
			line = printable.Text(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
			s.put("  " + s.tty.paint(diffPaint(line), line))
		}
	}
}

func diffPaint(line string) paint {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "@@"):
		return cyan
	}
	return faint
}

// put writes a line that is fit for the terminal.
func (s *screen) put(line string) {
	s.around(line)
	s.err.Flush()
}
