//go:build unix && !linux

package proc

import (
	"context"
	"errors"
)

func start(_ context.Context, spec Spec) (*Process, error) { return startGroup(spec) }

// RunAsWarden does nothing here: there are no subreapers.
func RunAsWarden() {}

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
func Custody() Custodian {
	return Custodian{Kind: Groups, Weaker: []string{
		"processes that leave their process group (setsid) are not ended",
		"processes are not ended if this program is killed with SIGKILL",
		"released processes are not to be had",
	}}
}
