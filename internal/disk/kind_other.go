//go:build !unix

package disk

import "io/fs"

// NonBlocking is not needed here.
const NonBlocking = 0

// Shared reports whether a regular file has several names, and not everybody may read
// it. It is not known here.
func Shared(fs.FileInfo) bool { return false }

// Linked reports whether a regular file has several names. It is not known here.
func Linked(fs.FileInfo) bool { return false }
