//go:build !linux

package changes

import "io/fs"

// nodeOf returns the node of an entry. A program that resets the modification time after a
// change of the same size is not noticed.
func nodeOf(info fs.FileInfo) node {
	n := plainNode(info)
	n.CTime = n.MTime
	return n
}
