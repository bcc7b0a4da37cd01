package assemble

import (
	"context"
	"fmt"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// statusTimeout bounds a command of the status row.
	statusTimeout = 2 * time.Second
	// maxStatus bounds its output in bytes.
	maxStatus = 16 << 10
)

// StatusCommand returns a function that runs the user's command for the status row of the terminal; nil if
// there is none. The command receives no keys, and does not run in a project, whose files it could obey.
func StatusCommand(argv, environ []string) func(ctx context.Context, input []byte) (string, error) {
	return statusCommand(argv, environ, statusTimeout)
}

func statusCommand(argv, environ []string, limit time.Duration) func(context.Context, []byte) (string, error) {
	if len(argv) == 0 {
		return nil
	}
	return func(ctx context.Context, input []byte) (string, error) {
		bounded, cancel := context.WithTimeoutCause(ctx, limit,
			fmt.Errorf("%q took longer than %s", argv[0], terminal.Duration(limit)))
		defer cancel()
		out, err := proc.Run(bounded, proc.Command{
			Argv: argv, Dir: Nowhere(), Env: Helper(environ), Stdin: input, MaxBytes: maxStatus,
		})
		switch {
		case err != nil && bounded.Err() != nil:
			return "", context.Cause(bounded)
		case err != nil:
			return "", err
		case !out.OK():
			return "", fmt.Errorf("%q ended with code %d: %s", argv[0], out.Code,
				terminal.Short(firstLine(out.Stderr), 500))
		}
		return string(out.Stdout), nil
	}
}
