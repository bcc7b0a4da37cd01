//go:build !linux

package proc

// strangers are not known here: no orphans come.
type strangers struct{}
