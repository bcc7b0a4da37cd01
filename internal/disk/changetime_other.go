//go:build !linux

package disk

import (
	"io/fs"
	"time"
)

// ChangeTime is not known here: everything counts as new.
func ChangeTime(fs.FileInfo) time.Time { return time.Now() }
