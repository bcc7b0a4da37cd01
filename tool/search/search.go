package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	places "github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/internal/disk"
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
	// Ripgrep is the path of rg, "" where there is none.
	Ripgrep string
	// Runner starts it; nil means not to.
	Runner Runner
	// Private, if set, reports which files may hold secrets, by their paths: a
	// search of a directory does not show their lines.
	Private func(path string) bool
	// Follow, if set, may refuse a path in a session that works in dir, for where
	// its links lead.
	Follow func(dir, named, real string) error
	// Timeout bounds a search, such as one of all of a disk; 0 means 30 s.
	Timeout time.Duration
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
	return []tool.Tool{globTool{cfg}, grepTool{cfg}, listTool{cfg}}
}

// decode reads arguments that are valid by the tool's schema.
func decode[T any](args json.RawMessage) (T, error) {
	var in T
	if err := json.Unmarshal(args, &in); err != nil {
		return in, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return in, nil
}

// locate resolves a path argument, "" meaning the working directory.
func (c Config) locate(dir, path string) (string, fs.FileInfo, error) {
	if path == "" {
		path = "."
	}
	abs, err := disk.Resolve(dir, path)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("there is no file or directory %q", path)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot look at %q: %w", path, err)
	}
	if c.Follow != nil {
		real, err := places.Resolve(abs)
		if err == nil {
			err = c.Follow(dir, abs, real)
		}
		if err != nil {
			return "", nil, err
		}
	}
	return abs, info, nil
}

// locateDir is locate for what must be a directory.
func (c Config) locateDir(dir, path string) (string, error) {
	abs, info, err := c.locate(dir, path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%q is not a directory", path)
	}
	return abs, err
}

// orDefault is n as an integer, or otherwise where the model gave none.
func orDefault(n float64, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return int(n)
}
