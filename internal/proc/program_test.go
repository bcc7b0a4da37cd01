//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plant makes an executable that prints what it is.
func plant(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+filepath.Base(filepath.Dir(path))+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFindProgramSkipsFoldersThatCommandsCanChange(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, own, outside := filepath.Join(top, "work"), filepath.Join(top, "own"), filepath.Join(top, "outside")
	for _, name := range []string{"work/venv/tool", "work/.bin/only", "own/tool", "work/tool"} {
		plant(t, filepath.Join(top, filepath.FromSlash(name)))
	}
	link := func(target, name string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(work, "venv"), filepath.Join(top, "linked"))   // a folder that leads into the work
	link(own, filepath.Join(work, "out"))                             // a link in the work that leads out
	link(filepath.Join(work, "out"), filepath.Join(top, "through"))   // and one that leads through it
	link(filepath.Join(work, "tool"), filepath.Join(outside, "tool")) // a program that is a link into the work
	MarkWritable(work)
	for _, folder := range []string{filepath.Join(work, "venv"), filepath.Join(top, "linked"), filepath.Join(work, "out"), filepath.Join(top, "through"), outside, "venv", "."} {
		path := strings.Join([]string{folder, own}, ":")
		if got, err := FindProgram("tool", path); got != filepath.Join(own, "tool") || err != nil {
			t.Errorf("FindProgram(tool) with PATH %s = %q, %v", path, got, err)
		}
		if folder == outside { // the folder itself is the user's
			continue
		}
		if got := TrustedPath(path); got != own {
			t.Errorf("TrustedPath(%s) = %q, want %q", path, got, own)
		}
	}
	if _, err := FindProgram("only", filepath.Join(work, ".bin")); err == nil || !strings.Contains(err.Error(), "commands can change that file") {
		t.Errorf("a program that only the work has: %v", err)
	}
	if file, shadows := ChangeableProgram("tool", filepath.Join(work, "venv")+":"+own); file != filepath.Join(work, "venv", "tool") || !shadows {
		t.Errorf("ChangeableProgram = %q, %v", file, shadows)
	}
	if file, shadows := ChangeableProgram("only", filepath.Join(work, ".bin")+":"+own); file == "" || shadows {
		t.Errorf("ChangeableProgram(only) = %q, %v", file, shadows)
	}
	if file, _ := ChangeableProgram("tool", own); file != "" {
		t.Errorf("ChangeableProgram of the user's program = %q", file)
	}
}

func TestHelpersRunNoProgramsThatCommandsCanChange(t *testing.T) {
	top := t.TempDir()
	plant(t, filepath.Join(top, "work", "tool"))
	plant(t, filepath.Join(top, "own", "tool"))
	MarkWritable(filepath.Join(top, "work"))
	path := filepath.Join(top, "work") + ":" + filepath.Join(top, "own") + ":" + os.Getenv("PATH")
	t.Setenv("PATH", path)
	for _, argv := range [][]string{{"tool"}, {"/bin/sh", "-c", "tool"}, {"/usr/bin/env", "tool"}} {
		out, err := Run(t.Context(), Command{Argv: argv, Dir: top, Env: []string{"PATH=" + path}})
		if err != nil || string(out.Stdout) != "own\n" {
			t.Errorf("%q ran %q, %v", argv, out.Stdout, err)
		}
	}
}
