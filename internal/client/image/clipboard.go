package image

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

// clipboardTimeout bounds the wait for the owner of the clipboard, another program.
const clipboardTimeout = 10 * time.Second

// Clipboard reads pictures from the clipboard of this machine's desktop.
type Clipboard struct {
	// GOOS is the operating system, and Getenv reads a variable of settle's environment.
	GOOS   string
	Getenv func(string) string
	// Run runs a program; its output is at most as long as a picture may be.
	Run func(ctx context.Context, argv ...string) (proc.Output, error)
}

// NewClipboard returns the clipboard of this machine. Its programs start in the directory,
// found as settle finds its own.
func NewClipboard(goos, dir string, environ []string, getenv func(string) string) Clipboard {
	return Clipboard{GOOS: goos, Getenv: getenv, Run: func(ctx context.Context, argv ...string) (proc.Output, error) {
		return proc.Run(ctx, proc.Command{
			Argv: argv, Dir: dir, Env: environ, MaxBytes: 2*maxBytes + 1<<10, // macOS sends hexadecimal digits
		})
	}}
}

// errNoDesktop: no variable names a desktop.
var errNoDesktop = errors.New(
	"cannot paste an image: this machine has no desktop whose clipboard settle could read (over ssh, it is on " +
		"yours); paste the path of a file, or name it as @path",
)

// Image returns the picture in the clipboard.
func (c Clipboard) Image(ctx context.Context) (event.Image, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clipboardTimeout,
		fmt.Errorf("the clipboard did not answer within %s", clipboardTimeout))
	defer cancel()
	var data []byte
	var err error
	switch {
	case c.GOOS == "darwin":
		data, err = c.darwin(ctx)
	case c.Getenv("WAYLAND_DISPLAY") != "":
		data, err = c.from(ctx, "wl-clipboard", []string{"wl-paste", "--list-types"},
			func(kind string) []string { return []string{"wl-paste", "--no-newline", "--type", kind} })
	case c.Getenv("DISPLAY") != "":
		target := func(name string) []string {
			return []string{"xclip", "-selection", "clipboard", "-target", name, "-out"}
		}
		data, err = c.from(ctx, "xclip", target("TARGETS"), target)
	default:
		return event.Image{}, errNoDesktop
	}
	if err != nil {
		return event.Image{}, fmt.Errorf("cannot paste an image: %w", err)
	}
	i, err := New(http.DetectContentType(data), data, "pasted")
	if err != nil {
		return i, fmt.Errorf("cannot paste the clipboard as an image: %w", err)
	}
	return i, nil
}

// from asks a program for the types in the clipboard, then for the first that a model reads.
func (c Clipboard) from(
	ctx context.Context, install string, list []string, get func(kind string) []string,
) ([]byte, error) {
	types, err := c.output(ctx, install, list...)
	if err != nil {
		return nil, err
	}
	offered := strings.Fields(string(types))
	for _, kind := range []string{"image/png", "image/jpeg", "image/webp", "image/gif"} {
		if slices.Contains(offered, kind) {
			return c.output(ctx, install, get(kind)...)
		}
	}
	return nil, fmt.Errorf("the clipboard has none, but %s",
		terminal.OneLine(strings.Join(offered[:min(len(offered), 5)], ", ")))
}

// output runs a program of the clipboard and returns its standard output.
func (c Clipboard) output(ctx context.Context, install string, argv ...string) ([]byte, error) {
	out, err := c.Run(ctx, argv...)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w; it reads the clipboard: install %s", err, install)
	case out.Truncated || len(out.Stdout) > 2*maxBytes:
		return nil, fmt.Errorf("it has more than %d MB", maxBytes>>20)
	case !out.OK():
		return nil, fmt.Errorf("the clipboard is empty, or %s cannot read it: %s", argv[0],
			terminal.OneLine(string(out.Stderr[:min(len(out.Stderr), 200)])))
	case len(out.Stdout) == 0:
		return nil, errors.New("the clipboard is empty")
	}
	return out.Stdout, nil
}

// darwin asks AppleScript for a PNG, which macOS also makes of other kinds. pbpaste knows
// texts only.
func (c Clipboard) darwin(ctx context.Context) ([]byte, error) {
	out, err := c.Run(ctx, "osascript", "-e", "the clipboard as «class PNGf»")
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case !out.OK():
		return nil, errors.New("the clipboard has none")
	}
	digits, isData := bytes.CutPrefix(bytes.TrimSpace(out.Stdout), []byte("«data PNGf"))
	digits, isEnded := bytes.CutSuffix(digits, []byte("»"))
	data, err := hex.DecodeString(string(digits))
	if !isData || !isEnded || err != nil || len(data) > maxBytes {
		return nil, errors.New("the clipboard has a picture that settle cannot read")
	}
	return data, nil
}
