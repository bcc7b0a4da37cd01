//go:build !unix

package safefile

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(string) error { return nil }
