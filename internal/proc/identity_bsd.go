//go:build unix && !linux && !darwin

package proc

// startOf is unknown on this system.
func startOf(int) (started uint64, ok bool) { return 0, false }

func bootOf() string { return "" }

func namespace() string { return "" }
