//go:build !unix

package disk

import "os"

// syncDir does nothing: this system cannot sync directories.
func syncDir(*os.File) error { return nil }
