//go:build unix && !linux

package proc

import "time"

// idleDelay is the pause between two questions to the kernel whether a group still
// exists, while nothing is being ended.
const idleDelay = 100 * time.Millisecond

// vigil waits for the end of a process that need not be our child, where the system
// tells of it: not here.
type pidWatcher struct{}

func watchPID(int) *pidWatcher { return nil }

func (*pidWatcher) died() <-chan struct{} { return nil }

func (*pidWatcher) end() {}
