package pdf

import "golang.org/x/sys/unix"

// limitProcess bounds memory and processor time, so that one huge allocation fails as well.
// The runtime itself maps some memory beside its heap.
func limitProcess() {
	// If these fail, watchMemory and the host's deadline end the process.
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: 2 * maxMemory, Max: 2 * maxMemory})
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: 10, Max: 10})
}
