//go:build !unix

package disk

import "io/fs"

// accessOf is unknown on this system.
func accessOf(fs.FileInfo) (access, bool) { return access{}, false }
