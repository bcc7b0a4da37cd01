package main

import (
	"runtime"

	"golang.org/x/term"

	"github.com/settle-agent/settle/internal/frontend/run"
)

// screen is the terminal at standard error, nil where there is none that can be
// drawn on.
func (s *streams) screen() *run.Screen {
	name := s.getenv("TERM")
	if !isTerminal(s.stderr) || name == "dumb" || name == "" && runtime.GOOS != "windows" {
		return nil
	}
	return &run.Screen{Palette: s.palette(), Width: func() int {
		width, _, err := term.GetSize(int(s.stderr.Fd()))
		if err != nil {
			return 0
		}
		return width
	}}
}

// person reports whether somebody at the terminal can be asked.
func (s *streams) person() bool {
	return isTerminal(s.stdin) && isTerminal(s.stdout) && isTerminal(s.stderr)
}
