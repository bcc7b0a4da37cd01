//go:build !linux

package executor

// userMay: nothing is confined here.
func userMay(string, access) bool { return false }
