// Package early turns a process into a supervisor before the large packages of a binary
// initialise: a main package imports it for that effect alone.
//
// A supervisor is this binary, executed again for each command. The initialisation of other
// packages (tables, certificates) would take more than half of its start and memory. Go
// initialises packages in the order of their import paths as far as their imports allow, so that
// this one precedes most of them. Without it, supervisors only start more slowly. The first line
// of main calls proc.RunAsSupervisor in any case.
package early

import "github.com/settle-agent/settle/internal/proc"

// This is the only init in the tree with an effect: see the package comment.
func init() { proc.RunAsSupervisor() }
