//go:build unix

package proc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A foreground program runs to its end, and Attend returns the end.
func TestAttend(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH")}
	if err := RunForeground(t.Context(), ForegroundProgram{Argv: []string{"/bin/sh", "-c", "echo done > out"}, Dir: dir, Env: env}); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(data) != "done\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := RunForeground(t.Context(), ForegroundProgram{Argv: []string{"/bin/sh", "-c", "exit 3"}, Dir: dir, Env: env}); err == nil {
		t.Error("nothing is said of a program that fails")
	}
	if err := RunForeground(t.Context(), ForegroundProgram{Argv: []string{"/nonexistent/editor"}, Dir: dir, Env: env}); err == nil {
		t.Error("nothing is said of a program that is not there")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	in, _ := pipe(t) // nothing comes
	said, out := pipe(t)
	ended := make(chan error, 1)
	go func() { // ends when cancel has ended the program
		ended <- RunForeground(ctx, ForegroundProgram{Argv: []string{"/bin/sh", "-c", "echo ready; read line"}, Dir: dir, Env: env, Stdin: in, Stdout: out})
	}()
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}
