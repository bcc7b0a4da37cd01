// Package early catches wardens before the heavy packages of a binary
// initialise: a main package imports it for that effect alone.
//
// A warden is this binary executed anew for each command, and what other
// packages do to get ready (tables, certificates) is more than half of its
// start and of its memory. Go initialises packages in the order of their
// import paths as far as their imports allow, so that this one comes before
// most; where it does not, nothing breaks, wardens only start more slowly.
// The first line of main calls proc.RunAsSupervisor all the same.
package early

import "github.com/settle-agent/settle/internal/proc"

// This is the one init in the tree that does work: see the package comment.
func init() { proc.RunAsSupervisor() }
