package executor

import "golang.org/x/sys/unix"

// userMay reports whether the user of this process has the access.
func userMay(path string, a access) bool {
	mode := uint32(unix.R_OK)
	if a == writing {
		mode = unix.W_OK
	}
	return unix.Access(path, mode) == nil
}
