//go:build unix && !linux

package proc

import (
	"context"
	"errors"
	"os"

	"github.com/settle-agent/settle/internal/sandbox"
)

func start(_ context.Context, spec Spec) (*Process, error) { return startGroup(spec) }

// RunAsSupervisor makes no wardens here: there are no subreapers. It must be the first
// thing that main does, for what confined commands have settle do.
func RunAsSupervisor() {
	if len(os.Args) == 4 && os.Args[1] == sandbox.ConnectName {
		os.Exit(sandbox.RunConnect(os.Getenv("ALL_PROXY"), os.Args[2], os.Args[3]))
	}
}

// BecomeReaper does nothing here.
func BecomeReaper() (stop func(), err error) { return func() {}, nil }

// Sweep finds nothing here: environments of others cannot be read.
func Sweep(marker string, _ ...string) ([]int, error) {
	if marker == "" {
		return nil, errors.New("cannot sweep processes: the marker is empty")
	}
	return nil, nil
}

// Custody says how processes are kept here.
func Tracking() TrackingInfo {
	return TrackingInfo{Kind: Groups, Weaker: []string{
		"processes that leave their process group (setsid) are not ended",
		"processes are not ended if this program is killed with SIGKILL",
		"released processes are not to be had",
	}}
}
