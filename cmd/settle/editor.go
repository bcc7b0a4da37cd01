package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
)

// maxEdited is the maximum size of an edited text in bytes.
const maxEdited = 8 << 20

// editor returns a function that opens a text in the user's editor; nil if no variable
// names one.
func (s *streams) editor() func(context.Context, string) (string, error) {
	name := cmp.Or(s.getenv("VISUAL"), s.getenv("EDITOR"))
	if name == "" || runtime.GOOS == "windows" {
		return nil
	}
	return func(ctx context.Context, text string) (edited string, err error) {
		file, err := os.CreateTemp("", "settle-*.md")
		if err != nil {
			return "", fmt.Errorf("cannot make a file for the editor: %w; the text is as it was", err)
		}
		defer func() { _ = os.Remove(file.Name()) }() // a file that remains is in the directory of temporary files
		_, err = file.WriteString(text)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", fmt.Errorf("cannot make a file for the editor: %w; the text is as it was", err)
		}
		// As git does: the variable may have arguments. Editors obey files of their directory.
		err = proc.RunForeground(ctx, proc.ForegroundProgram{
			Argv: []string{"/bin/sh", "-c", name + ` "$@"`, name, file.Name()}, Dir: assemble.Nowhere(), Env: s.environ,
			Stdin: s.stdin, Stdout: s.stdout, Err: s.stderr,
		})
		if err != nil {
			return "", fmt.Errorf("cannot edit with %q: %w; the text is as it was", name, err)
		}
		data, err := disk.ReadRegular(file.Name(), maxEdited)
		if err != nil {
			return "", fmt.Errorf("cannot read what was edited: %w", err)
		}
		return string(data), nil
	}
}
