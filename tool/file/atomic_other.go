//go:build !unix

package file

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) bool { return true }

// syncDir does nothing: a directory cannot be synced here.
func syncDir(string) error { return nil }
