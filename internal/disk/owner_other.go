//go:build !unix

package disk

import (
	"io/fs"
	"os"
)

// accessOf is unknown on this system.
func accessOf(fs.FileInfo) (access, bool) { return access{}, false }

// keepOwner does nothing on this system.
func keepOwner(*os.File, fs.FileInfo) bool { return true }
