//go:build !unix

package repo

import (
	"io/fs"
	"os"
)

// ownerOf knows no owners here: all directories are trusted.
func ownerOf(fs.FileInfo) (uid int, known bool) { return 0, false }

func open(path string) (*os.File, error) { return os.Open(path) }
