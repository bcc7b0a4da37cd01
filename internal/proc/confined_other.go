//go:build unix && !darwin

package proc

import (
	"errors"

	"github.com/settle-agent/settle/internal/sandbox"
)

// confined has nothing here to execute: a process group confines nobody.
func confined(sandbox.Policy, string, []string) (path string, argv []string, err error) {
	return "", nil, errors.New("only a warden confines a command")
}
