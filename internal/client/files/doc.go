// Package files finds a file by a few letters of its path.
//
//	git's index ─┐
//	             ├─► List ─► Match: the best paths first
//	a walk ──────┘
//
// The index of a large repository is read at once. A bounded walk adds the files that git
// does not track yet; outside a repository, the walk is the only source. list.go reads,
// match.go ranks.
package files
