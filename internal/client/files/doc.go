// Package files finds the file that a person means by a few letters of its path.
//
//	git's index ─┐
//	             ├─► List ─► Match: the best paths first
//	a walk ──────┘
//
// The index of a large repository is read at once; a walk, which has bounds, adds
// what git does not know yet, and is all there is elsewhere.
package files
