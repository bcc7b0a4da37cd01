//go:build !unix

package disk

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(string) error { return nil }
