package image

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
)

const picture = "\x89PNG\r\n\x1a\nx"

// clipboard returns a clipboard whose programs print the texts in the map.
func clipboard(goos string, env map[string]string, prints map[string]string) Clipboard {
	return Clipboard{
		GOOS: goos, Getenv: func(name string) string { return env[name] },
		Run: func(ctx context.Context, argv ...string) (proc.Output, error) {
			text, known := prints[strings.Join(argv, " ")]
			switch {
			case ctx.Err() != nil:
				return proc.Output{}, context.Cause(ctx)
			case !slices.ContainsFunc([]string{"wl-paste", "xclip", "osascript"}, func(name string) bool {
				return name == argv[0] && prints[name] != "missing"
			}):
				return proc.Output{}, errors.New(`cannot start "` + argv[0] + `": not found`)
			case !known:
				return proc.Output{Exit: proc.Exit{Code: 1}, Stderr: []byte("No selection\n")}, nil
			}
			return proc.Output{Stdout: []byte(text)}, nil
		},
	}
}

func TestClipboardImage(t *testing.T) {
	wayland := map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
	x11 := map[string]string{"DISPLAY": ":0"}
	xclip := func(kind string) string { return "xclip -selection clipboard -target " + kind + " -out" }
	for name, c := range map[string]struct {
		clipboard Clipboard
		wrong     string // of the error; empty if it has the picture
	}{
		"wayland": {clipboard("linux", wayland, map[string]string{
			"wl-paste --list-types":                  "text/html\nimage/jpeg\nimage/png\n",
			"wl-paste --no-newline --type image/png": picture,
		}), ""},
		"x11": {clipboard("linux", x11, map[string]string{
			xclip("TARGETS"): "TARGETS\nimage/png\n", xclip("image/png"): picture,
		}), ""},
		"macOS": {clipboard("darwin", nil, map[string]string{
			"osascript -e the clipboard as «class PNGf»": "«data PNGf" +
				strings.ToUpper(hex.EncodeToString([]byte(picture))) + "»\n",
		}), ""},
		"no image": {
			clipboard("linux", wayland, map[string]string{"wl-paste --list-types": "text/plain\nUTF8_STRING\n"}),
			"the clipboard has none, but text/plain, UTF8_STRING",
		},
		"empty":          {clipboard("linux", x11, nil), "is empty, or xclip cannot read it: No selection"},
		"not installed":  {clipboard("linux", x11, map[string]string{"xclip": "missing"}), "install xclip"},
		"no desktop":     {clipboard("linux", nil, nil), "paste the path of a file"},
		"macOS: no data": {clipboard("darwin", nil, nil), "the clipboard has none"},
		"macOS: garbage": {clipboard("darwin", nil, map[string]string{
			"osascript -e the clipboard as «class PNGf»": "«data PNGfZZ»",
		}), "cannot read"},
		"it lies": {clipboard("linux", x11, map[string]string{
			xclip("TARGETS"): "image/png", xclip("image/png"): "<html>",
		}), "not PNG, JPEG, GIF or WebP"},
		"too long": {clipboard("linux", x11, map[string]string{
			xclip("TARGETS"): "image/png", xclip("image/png"): picture + strings.Repeat("x", 2*maxBytes),
		}), "more than 20 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.clipboard.Image(t.Context())
			switch {
			case c.wrong == "" && (err != nil || string(got.Data) != picture || got.MediaType != "image/png"):
				t.Errorf("got %+v, %v", got, err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("got %v, want %q", err, c.wrong)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the session is closed"))
	if _, err := clipboard("linux", x11, nil).Image(ctx); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("after the end: %v", err)
	}
}
