package terminal

import "os"

// await leaves the waiting to the read.
func await(_, _ *os.File) (bool, error) { return true, nil }
