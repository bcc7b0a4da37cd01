package settle

import (
	"slices"

	"github.com/settle-agent/settle/internal/proc"
)

// RunAsWarden belongs into the first line of main of a program whose agents
// run commands:
//
//	func main() {
//		settle.RunAsWarden()
//		…
//	}
//
// Each command is then kept by a warden, a small process that is this program
// executed anew: there RunAsWarden ends every descendant of the command and
// never returns; everywhere else it returns at once. Nothing escapes a warden,
// also where this program is killed with SIGKILL. Without it, and on systems
// other than Linux, commands are kept less strictly; [Host.Custody] says how.
//
// What the packages of a program do before main, they do in each warden, too.
func RunAsWarden() { proc.RunAsWarden() }

// BecomeReaper has the orphans of this program's descendants come to it, so
// that also the tree of a warden that was killed can be ended (C7). Only a
// program that starts no child but through settle's tools may do that; children
// that it has already, and what they leave, are not touched (C23). The returned
// function undoes it. On systems other than Linux it does nothing.
func BecomeReaper() (stop func(), err error) { return proc.BecomeReaper() }

// Custody says how the processes are kept that tools start.
type Custody struct {
	// Kind is "warden", "process group" or "job object".
	Kind string
	// Weaker says what is not promised that wardens would promise; empty with
	// wardens. It is also in the session's log, among the notes of
	// session.opened, if that has a Toolbox.
	Weaker []string
}

// Custody says how processes are kept in this program.
func (h *Host) Custody() Custody { return custody() }

func custody() Custody {
	c := proc.Custody()
	return Custody{Kind: string(c.Kind), Weaker: c.Weaker}
}

// notes are what a person should know who looks at the log.
func (c SessionConfig) notes() []string {
	notes := slices.Clone(c.Notes)
	if c.Toolbox != nil {
		notes = append(notes, custody().Weaker...)
	}
	return notes
}
