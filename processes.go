package settle

import (
	"slices"

	"github.com/settle-agent/settle/internal/proc"
)

// RunAsSupervisor belongs in the first line of main of a program whose agents run
// commands:
//
//	func main() {
//		settle.RunAsSupervisor()
//		…
//	}
//
// Each command then runs under a warden, a small process that runs this program
// again. In that process, RunAsSupervisor waits for the command, ends all of its
// descendants and never returns; in any other it returns at once. No process
// escapes a warden, even if this program is killed with SIGKILL. Without
// RunAsSupervisor, and on systems other than Linux, the guarantees are weaker;
// [Host.Custody] says how.
//
// Package initialisation of the program also runs in each warden.
func RunAsSupervisor() { proc.RunAsSupervisor() }

// BecomeReaper makes orphaned descendants children of this program, so that settle
// can end them even if their warden was killed (C7). Call it only if the program
// starts no child processes except through settle's tools. Children that it already
// has, and their descendants, are left alone (C23). The returned function undoes
// it. On systems other than Linux, BecomeReaper does nothing.
func BecomeReaper() (stop func(), err error) { return proc.BecomeReaper() }

// Custody says how settle keeps track of the processes that tools start.
type Custody struct {
	// Kind is "warden", "process group" or "job object".
	Kind string
	// Weaker lists what is not guaranteed without wardens; empty with wardens.
	// It is also in the log of each session that has a Toolbox, among the notes
	// of session.opened.
	Weaker []string
}

// Custody says how settle keeps track of processes in this program.
func (h *Host) Custody() Custody { return custody() }

func custody() Custody {
	c := proc.Tracking()
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
