package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/printable"
)

const (
	// frameDelay is the time between two drawings of the status.
	frameDelay = 120 * time.Millisecond
	// statusDelay is how long something lasts before it gets a status: what is
	// quick must not flicker.
	statusDelay = 300 * time.Millisecond
	// tailLines is how many lines of a running command's output are shown.
	tailLines = 3
)

// status is what is shown below everything else while something goes on: the end
// of a running command's output, and what runs for how long. It is taken back
// before anything else is written.
type status struct {
	drawn int // lines on the terminal
	frame int
	doing string
	since time.Time
}

// animate draws the status until done is closed.
func (s *screen) animate(done <-chan struct{}) {
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
			s.over = true
			s.erase()
			s.mu.Unlock()
			return
		}
	}
}

// setActivity notes what goes on now.
func (s *screen) setActivity(what string, at time.Time) {
	s.status.doing, s.status.since = what, at
}

// draw draws the status, unless a line of text is open or somebody is asked.
func (s *screen) draw(now time.Time) {
	if s.tty == nil || s.over || s.mid || s.asking || s.volume == Quiet {
		return
	}
	lines := s.lines(now)
	if len(lines) == 0 && s.status.drawn == 0 {
		return
	}
	s.status.frame++
	text := s.takeBack() + strings.Join(lines, "\n")
	s.status.drawn = len(lines)
	s.err.Write(func(b []byte) []byte { return append(b, text...) })
	s.err.Flush()
}

// erase takes the status back.
func (s *screen) erase() {
	if s.status.drawn == 0 {
		return
	}
	text := s.takeBack()
	s.err.Write(func(b []byte) []byte { return append(b, text...) })
	s.err.Flush()
}

// takeBack is what clears the lines that are drawn. The cursor is at the end of
// the last one.
func (s *screen) takeBack() string {
	n := s.status.drawn
	s.status.drawn = 0
	if n == 0 {
		return ""
	}
	return "\r" + strings.Repeat("\x1b[A", n-1) + "\x1b[J"
}

// lines are those of the status.
func (s *screen) lines(now time.Time) []string {
	newest, running := s.running()
	what, since := s.status.doing, s.status.since
	if newest != nil {
		what, since = newest.title, newest.began
		if running > 1 {
			what = fmt.Sprintf("%d calls; %s", running, what)
		}
	}
	took := now.Sub(since)
	if what == "" || took < statusDelay {
		return nil
	}
	var lines []string
	if newest != nil {
		for _, line := range lastLines(newest.tail, tailLines) {
			lines = append(lines, s.tty.paint(faint, "  │ "+s.tty.fit(line, 4)))
		}
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	clock := " " + printable.Duration(took.Truncate(time.Second/10))
	if took >= 10*time.Second {
		clock = " " + printable.Duration(took.Truncate(time.Second))
	}
	head := s.tty.paint(cyan, string(frames[s.status.frame%len(frames)])) + " "
	return append(lines, head+s.tty.fit(what, 2+len(clock))+s.tty.paint(faint, clock))
}

// running returns the call that started last of those that run, and how many
// there are.
func (s *screen) running() (newest *runningCall, n int) {
	for _, i := range s.calls {
		if newest == nil || i.began.After(newest.began) || i.began.Equal(newest.began) && i.title < newest.title {
			newest = i
		}
	}
	return newest, len(s.calls)
}
