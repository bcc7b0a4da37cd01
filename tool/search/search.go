package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

// Config configures the tools.
type Config struct {
	// Private, if set, reports by path which files can contain secrets: a search of a
	// directory does not show their lines.
	Private func(path string) bool
	// Timeout bounds a search, such as one of a whole disk; 0 means 30 s.
	Timeout time.Duration

	mounts  *disk.Mounts // at the start of the session
	workDir *workDir     // held open; nil holds none
}

const defaultTimeout = 30 * time.Second

// slowError ends a search that exceeds its timeout.
type slowError struct{ after time.Duration }

func (e slowError) Error() string {
	return fmt.Sprintf("(stopped after %s, and not everything was searched: name a smaller directory in path)\n",
		e.after)
}

// bound returns ctx with the timeout of a search, whose cause is a slowError.
func (c Config) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	after := cmp.Or(c.Timeout, defaultTimeout)
	return context.WithTimeoutCause(ctx, after, slowError{after})
}

// slow adds the timeout to the output of a search that it ended.
func slow(ctx context.Context, output string) (text string, stopped bool) {
	var e slowError
	if !errors.As(context.Cause(ctx), &e) {
		return output, false
	}
	return strings.TrimSuffix(output, "\n") + "\n" + e.Error(), true
}

// workDir is a session's working directory, held open; only settle itself has it.
type workDir = disk.WorkDir

// In returns the configuration with the session's working directory held open.
func (c Config) In(dir *workDir) Config {
	c.workDir = dir
	return c
}

// Tools returns glob, grep and list.
func Tools(cfg Config) []tool.Tool {
	cfg.mounts = disk.Mounted()
	return []tool.Tool{cfg.globTool(), cfg.grepTool(), cfg.listTool()}
}

// locate returns the place that a path argument was judged to lead to; "" is the working
// directory.
func (c Config) locate(call tool.Call, path string) (disk.Place, fs.FileInfo, error) {
	path = cmp.Or(path, ".")
	p, err := c.workDir.Locate(call.Dir, path, call.Places)
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

// locateDir is locate for a path that must be a directory.
func (c Config) locateDir(call tool.Call, path string) (disk.Place, error) {
	p, info, err := c.locate(call, path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%q is not a directory", path)
	}
	return p, err
}

// orDefault returns n as an integer, or otherwise if the model gave none.
func orDefault(n float64, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return int(n)
}
