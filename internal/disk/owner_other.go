//go:build !unix

package disk

import (
	"io/fs"
	"os"
)

// accessOf is unknown on this system.
func accessOf(fs.FileInfo) (access, bool) { return access{}, false }

// KeepOwner does nothing on this system.
func KeepOwner(*os.File, fs.FileInfo) bool { return true }
