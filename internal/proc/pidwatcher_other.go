//go:build unix && !linux

package proc

import "time"

// idleDelay is the pause between two checks whether a group exists, outside of a termination.
const idleDelay = 100 * time.Millisecond

// pidWatcher waits for the end of a process that need not be a child. This system cannot.
type pidWatcher struct{}

func watchPID(int) *pidWatcher { return nil }

func (*pidWatcher) died() <-chan struct{} { return nil }

func (*pidWatcher) end() {}
