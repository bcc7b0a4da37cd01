//go:build unix && !linux

package proc

import (
	"context"
	"errors"
	"os"

	"github.com/settle-agent/settle/internal/sandbox"
)

func start(_ context.Context, spec Spec) (*Process, error) { return startGroup(spec) }

// RunAsSupervisor starts no supervisors here: the system has no subreapers. Main calls it first,
// because sandboxed commands execute this binary.
func RunAsSupervisor() {
	if len(os.Args) == 4 && os.Args[1] == sandbox.ConnectName {
		os.Exit(sandbox.RunConnect(os.Getenv("ALL_PROXY"), os.Args[2], os.Args[3]))
	}
}

// BecomeReaper does nothing here.
func BecomeReaper() (stop func(), err error) { return func() {}, nil }

// Sweep finds nothing here: the environments of other processes are unreadable.
func Sweep(marker string, _ ...string) ([]int, error) {
	if marker == "" {
		return nil, errors.New("cannot sweep processes: the marker is empty")
	}
	return nil, nil
}

// Tracking describes the process tracking of this system.
func Tracking() TrackingInfo {
	return TrackingInfo{Kind: Groups, Weaker: []string{
		"processes that leave their process group (setsid) are not ended",
		"processes are not ended if this program is killed with SIGKILL",
		"processes cannot be released",
	}}
}

// Marked reports whether a process lives whose environment has the marker. It is not known
// here.
func Marked(string) bool { return false }
