//go:build !linux

package hands

// userMay: nothing is confined here.
func userMay(string, access) bool { return false }
