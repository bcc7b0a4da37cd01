package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

// Runner starts programs; this package starts none itself.
type Runner interface {
	// Run starts argv in dir, an absolute path, with empty standard input,
	// and hands its standard output to read while it runs. It returns when
	// the program and its descendants have ended: it ends them itself when
	// ctx is cancelled or read returns an error, which it then returns. A
	// program that could not be started is an error too; one that ended by
	// itself is not, whatever its exit code.
	Run(ctx context.Context, argv []string, dir string, read func(stdout io.Reader) error) (exitCode int, err error)
}

// Config says what the tools may use.
type Config struct {
	// Ripgrep is the path of rg, "" where there is none. It only says which files may have
	// a match: these are opened and searched like all others.
	Ripgrep string
	// Runner starts it; nil means not to.
	Runner Runner
	// Private, if set, reports which files may hold secrets, by their paths: a
	// search of a directory does not show their lines.
	Private func(path string) bool
	// Timeout bounds a search, such as one of all of a disk; 0 means 30 s.
	Timeout time.Duration

	mounts *disk.Mounts // as the session began
}

const defaultTimeout = 30 * time.Second

// slowError ends a search that takes too long.
type slowError struct{ after time.Duration }

func (e slowError) Error() string {
	return fmt.Sprintf("(stopped after %s, and not everything was searched: name a smaller directory in path)\n", e.after)
}

// bound returns ctx with the bound of a search, whose cause is a slowError.
func (c Config) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	after := cmp.Or(c.Timeout, defaultTimeout)
	return context.WithTimeoutCause(ctx, after, slowError{after})
}

// slow adds to the output of a search that its bound stopped it, if it did.
func slow(ctx context.Context, output string) (said string, stopped bool) {
	var e slowError
	if !errors.As(context.Cause(ctx), &e) {
		return output, false
	}
	return strings.TrimSuffix(output, "\n") + "\n" + e.Error(), true
}

// Tools returns glob, grep and list.
func Tools(cfg Config) []tool.Tool {
	if cfg.Runner == nil {
		cfg.Ripgrep = ""
	}
	cfg.mounts = disk.Mounted()
	return []tool.Tool{cfg.globTool(), cfg.grepTool(), cfg.listTool()}
}

// locate returns the place that a path argument was judged to lead to, "" meaning the
// working directory.
func (c Config) locate(call tool.Call, path string) (disk.Place, fs.FileInfo, error) {
	path = cmp.Or(path, ".")
	p, err := disk.Locate(call.Dir, path, call.Places)
	if err != nil {
		return disk.Place{}, nil, err
	}
	p = p.Mounted(c.mounts)
	info, err := p.Stat()
	switch changed := (*disk.ChangedError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return disk.Place{}, nil, fmt.Errorf("there is no file or directory %q", path)
	case errors.As(err, &changed):
		return disk.Place{}, nil, err
	case err != nil:
		return disk.Place{}, nil, fmt.Errorf("cannot look at %q: %w", path, err)
	}
	return p, info, nil
}

// locateDir is locate for what must be a directory.
func (c Config) locateDir(call tool.Call, path string) (disk.Place, error) {
	p, info, err := c.locate(call, path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%q is not a directory", path)
	}
	return p, err
}

// orDefault is n as an integer, or otherwise where the model gave none.
func orDefault(n float64, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return int(n)
}
