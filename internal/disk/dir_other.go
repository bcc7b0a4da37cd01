//go:build !unix

package disk

// SyncDir does nothing: this system cannot sync directories.
func SyncDir(string) error { return nil }
