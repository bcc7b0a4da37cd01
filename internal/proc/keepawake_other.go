//go:build !linux

package proc

// KeepAwake does nothing here: there are no supervisors.
func KeepAwake() {}

// Pause does nothing here: terminals stop processes by themselves.
func Pause() {}
