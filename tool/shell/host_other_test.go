//go:build !linux

package shell

// play does nothing: the roles are for tests with supervisors.
func play() {}
