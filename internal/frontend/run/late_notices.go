package run

import (
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/terminal"
)

// maxLate bounds what late keeps.
const maxLate = 20

// lateNotices is what people should know of a turn that programs watch: for these, the
// cause comes first on standard error (C14), and this after it.
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
