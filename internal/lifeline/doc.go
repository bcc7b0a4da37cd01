// Package lifeline notices that whoever started this program is gone: that nobody
// can read standard output any more, or that the parent died. A turn may think
// for minutes without writing anything; a client that was killed would never be
// missed otherwise.
//
//	Closed(stdout) ─┐
//	Parent()       ─┴► lost(err), once ─► the face ends its turns
//
// Standard input that ends is for whoever reads it to notice.
package lifeline

import "errors"

// ErrParent says that the process that started this one is gone.
var ErrParent = errors.New("the process that started settle is gone")
