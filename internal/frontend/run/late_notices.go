package run

import (
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/terminal"
)

// maxLate bounds the notices that lateNotices keeps.
const maxLate = 20

// lateNotices holds notices about a turn that a program runs. The cause of a failure comes
// first on standard error (C14), and the notices follow.
type lateNotices struct {
	silent  bool
	notices []string
}

func (l *lateNotices) keep(notice string) {
	if !l.silent && len(l.notices) < maxLate {
		l.notices = append(l.notices, notice)
	}
}

func (l *lateNotices) flush(to *stdio.Output) {
	for _, notice := range l.notices {
		to.Add("settle: note: " + terminal.OneLine(notice) + "\n")
	}
	l.notices = nil
}
