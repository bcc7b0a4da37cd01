//go:build !linux

package proc

// unmanagedChildren is empty: this system sends no orphans.
type unmanagedChildren struct{}
