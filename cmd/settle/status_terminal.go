package main

import (
	"runtime"

	"golang.org/x/term"

	"github.com/settle-agent/settle/internal/frontend/run"
)

// statusTerminal returns the terminal at standard error; nil if settle cannot draw there.
func (s *streams) statusTerminal() *run.StatusTerminal {
	name := s.getenv("TERM")
	if !isTerminal(s.stderr) || name == "dumb" || name == "" && runtime.GOOS != "windows" {
		return nil
	}
	return &run.StatusTerminal{Palette: s.palette(), Width: func() int {
		width, _, err := term.GetSize(int(s.stderr.Fd()))
		if err != nil {
			return 0
		}
		return width
	}}
}

// person reports whether a person at the terminal can be asked.
func (s *streams) person() bool {
	return isTerminal(s.stdin) && isTerminal(s.stdout) && isTerminal(s.stderr)
}
