//go:build !linux

package proc

// unmanaged are not known here: no orphans come.
type unmanagedChildren struct{}
