package shell

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
)

// names lists processes for a sentence.
func names(list []event.Process) string {
	const limit = 5
	var words []string
	for i, p := range list {
		if i == limit {
			words = append(words, fmt.Sprintf("and %d more", len(list)-limit))
			break
		}
		word := fmt.Sprintf("pid %d", p.PID)
		if p.Command != "" {
			word += fmt.Sprintf(" (%s)", p.Command)
		}
		if p.Why != "" {
			word += ": " + p.Why
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// signalName returns the name of a signal that commonly ends commands; their numbers are
// the same on every Unix.
func signalName(number int) string {
	switch number {
	case 1:
		return "HUP"
	case 2:
		return "INT"
	case 3:
		return "QUIT"
	case 6:
		return "ABRT"
	case 8:
		return "FPE"
	case 9:
		return "KILL"
	case 11:
		return "SEGV"
	case 13:
		return "PIPE"
	case 15:
		return "TERM"
	}
	return fmt.Sprintf("SIG%d", number)
}
