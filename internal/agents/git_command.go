package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

// gitTimeout bounds each run of git. A checkout of a large repository takes a while.
const gitTimeout = 2 * time.Minute

// exitError is a failure that git reports.
type exitError struct {
	code int
	text string // first line of git's standard error
}

func (e *exitError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("git exited with code %d", e.code)
	}
	return e.text
}

// git runs git in dir and returns its output. It trusts the repository in dir and the one
// named safe. No process of git outlives the call.
func (k Worktrees) git(ctx context.Context, dir, safe string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	set := []string{
		"git", "-c", "safe.directory=" + safe, "-c", "safe.directory=" + dir, "-c", "core.checkStat=default",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false",
		"-c", "submodule.recurse=false", "-c", "diff.ignoreSubmodules=all", "-c", "status.submoduleSummary=false",
	}
	out, err := proc.Run(ctx, proc.Command{Argv: append(set, args...), Dir: dir, Env: k.Env})
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot run git: %w", err)
	case out.Truncated:
		return "", errors.New("git put out too much")
	case !out.OK():
		return "", &exitError{out.Code, firstLine(out.Stderr)}
	}
	return string(out.Stdout), nil
}

// line runs git and returns its output without surrounding space.
func (k Worktrees) line(ctx context.Context, dir, safe string, args ...string) (string, error) {
	out, err := k.git(ctx, dir, safe, args...)
	return strings.TrimSpace(out), err
}

const maxMessageWidth = 200

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return terminal.Short(terminal.OneLine(string(line)), maxMessageWidth)
}
