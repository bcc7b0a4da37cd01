package settle

import (
	"slices"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/proc/pdf"
)

// RunAsSupervisor belongs in the first line of main of a program whose agents run commands:
//
//	func main() {
//		settle.RunAsSupervisor()
//		…
//	}
//
// Each command then runs under a supervisor, a small process that runs this program again. In
// that process, RunAsSupervisor waits for the command, ends all its descendants and never returns.
// In any other process it returns at once. No process escapes a supervisor, even if this
// program is killed with SIGKILL. Without RunAsSupervisor, and on systems other than Linux, the
// guarantees are weaker; see [Host.ProcessTracking].
//
// Package initialization of the program also runs in each supervisor.
func RunAsSupervisor() {
	proc.RunAsSupervisor()
	pdf.RunAsExtractor() // PDFs are read in a further process as well
}

// BecomeReaper makes orphaned descendants children of this program, so that settle can end
// them even if their supervisor was killed (C7). Call it only if the program starts no child
// processes except through settle's tools. Existing children and their descendants are left
// alone (C23). The returned function undoes BecomeReaper. On systems other than Linux,
// BecomeReaper does nothing.
func BecomeReaper() (stop func(), err error) { return proc.BecomeReaper() }

// ProcessTracking describes how settle tracks the processes of tools.
type ProcessTracking struct {
	// Kind is "supervisor", "process group" or "job object".
	Kind string
	// Weaker lists the guarantees that do not hold without supervisors; empty with
	// supervisors. It is also among the notes of session.opened in the log of each session
	// with a Toolbox.
	Weaker []string
}

// ProcessTracking describes process tracking in this program.
func (h *Host) ProcessTracking() ProcessTracking { return processTracking() }

func processTracking() ProcessTracking {
	c := proc.Tracking()
	return ProcessTracking{Kind: string(c.Kind), Weaker: c.Weaker}
}

// notes returns the notes of session.opened.
func (c SessionConfig) notes() []string {
	notes := slices.Clone(c.Notes)
	if c.Toolbox != nil {
		notes = append(notes, processTracking().Weaker...)
	}
	return notes
}
