//go:build unix && !linux

package journal

import "testing"

// checkHeir checks nothing: heirs cannot be seen here.
func checkHeir(*testing.T, *HeldError, int, int) {}
