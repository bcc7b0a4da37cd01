package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// frameDelay is the time between two drawings of the status.
	frameDelay = 120 * time.Millisecond
	// statusDelay is the minimum duration of work that gets a status, so that short work
	// does not flicker.
	statusDelay = 300 * time.Millisecond
	// tailLines is the number of shown lines of a running command's output.
	tailLines = 3
)

// status is shown below everything else while work is in progress: the end of a running
// command's output, the current activity and its duration. It is erased before any other
// output.
type status struct {
	drawn int // lines on the terminal
	frame int
	doing string
	since time.Time
	// silence is the state about the model's silence; it is also kept if nothing is drawn.
	silence silence
}

// animate draws the status until done is closed.
func (s *textView) animate(done <-chan struct{}) {
	tick := time.NewTicker(frameDelay)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.mu.Lock()
			s.draw(time.Now())
			s.mu.Unlock()
		case <-done:
			s.mu.Lock()
			s.finished = true
			s.erase()
			s.mu.Unlock()
			return
		}
	}
}

// setActivity records the current activity.
func (s *textView) setActivity(what string, at time.Time) {
	s.status.doing, s.status.since = what, at
}

// draw draws the status, unless a line of text or a question is open.
func (s *textView) draw(now time.Time) {
	if s.tty == nil || s.finished || s.mid || s.questionOpen || s.volume == Quiet {
		return
	}
	lines := s.lines(now)
	if len(lines) == 0 && s.status.drawn == 0 {
		return
	}
	s.status.frame++
	text := s.takeBack()
	for n, line := range lines {
		if n > 0 {
			text += "\n"
		}
		text += string(s.palette.Append(nil, line))
	}
	s.status.drawn = len(lines)
	s.print(s.err, text)
}

// erase takes the status back.
func (s *textView) erase() {
	if s.status.drawn > 0 {
		s.print(s.err, s.takeBack())
	}
}

// takeBack returns the sequence that clears the drawn lines. The cursor is at the end of
// the last line.
func (s *textView) takeBack() string {
	n := s.status.drawn
	s.status.drawn = 0
	if n == 0 {
		return ""
	}
	return "\r" + strings.Repeat("\x1b[A", n-1) + "\x1b[J"
}

// lines returns the rows of the status. They always fit: a row that wraps could not be
// erased.
func (s *textView) lines(now time.Time) (lines []terminal.Line) {
	newest, running := s.running()
	what, since := s.status.doing, s.status.since
	if newest != nil {
		what, since = newest.title, newest.began
		if running > 1 {
			what = fmt.Sprintf("%d calls; %s", running, what)
		}
	}
	elapsed := now.Sub(since)
	if what == "" || elapsed < statusDelay {
		return nil
	}
	width := s.tty.width()
	if newest != nil {
		tail := terminal.LastLines(newest.tail, tailLines)
		for _, line := range tail {
			lines = append(lines, terminal.Clip(terminal.Plain("  │ "+line, faint()), width))
		}
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	precision := time.Second / 10
	if elapsed >= 10*time.Second {
		precision = time.Second
	}
	clock := " " + terminal.Duration(elapsed.Truncate(precision))
	if silent := s.silent(now); silent != "" {
		what, clock = silent, ""
	}
	line := terminal.Line{
		{Text: string(frames[s.status.frame%len(frames)]), Style: terminal.Style{Color: terminal.Cyan}},
		{Text: " " + what},
	}
	line = append(terminal.Clip(line, width-len(clock)), terminal.Span{Text: clock, Style: faint()})
	return append(lines, terminal.Clip(line, width))
}

// fallbackWidth is taken for a terminal that does not say.
const fallbackWidth = 80

// width returns the number of used columns of a row: in the last column, some terminals wrap.
func (t *StatusTerminal) width() int {
	width := fallbackWidth
	if t.Width != nil && t.Width() > 0 {
		width = t.Width()
	}
	return width - 1
}

// running returns the running call that started last, and the number of running calls.
func (s *textView) running() (newest *runningCall, n int) {
	for _, i := range s.calls {
		if newest == nil || i.began.After(newest.began) || i.began.Equal(newest.began) && i.title < newest.title {
			newest = i
		}
	}
	return newest, len(s.calls)
}
