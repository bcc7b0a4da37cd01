//go:build !unix

package disk

import "io/fs"

// NonBlocking is unnecessary on this system.
const NonBlocking = 0

// Shared is unknown on this system.
func Shared(fs.FileInfo) bool { return false }

// Linked is unknown on this system.
func Linked(fs.FileInfo) bool { return false }
