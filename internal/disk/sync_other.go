//go:build !unix

package disk

import "os"

// syncDir does nothing: directories cannot be synced here.
func syncDir(*os.File) error { return nil }
