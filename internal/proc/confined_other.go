//go:build unix && !darwin

package proc

import (
	"errors"

	"github.com/settle-agent/settle/internal/sandbox"
)

// confined always fails: a process group confines no command.
func confined(sandbox.Policy, string, []string) (path string, argv []string, err error) {
	return "", nil, errors.New("only a supervisor can confine a command")
}
