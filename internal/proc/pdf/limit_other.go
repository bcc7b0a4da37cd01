//go:build !linux

package pdf

// limitProcess does nothing here: watchMemory and the host's deadline bound the process.
func limitProcess() {}
