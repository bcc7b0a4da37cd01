//go:build !linux && !darwin

package changes

import "io/fs"

// hasCTime reports whether the ctime of a node is more than its mtime.
const hasCTime = false

// nodeOf returns the node of an entry. A program that resets the modification time after a
// change of the same size is not noticed.
func nodeOf(info fs.FileInfo) node {
	n := plainNode(info)
	n.CTime = n.MTime
	return n
}
