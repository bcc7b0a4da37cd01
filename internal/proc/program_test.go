//go:build unix

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// plant makes an executable that prints its own name.
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
		if folder == outside { // the folder itself is the user's: its other programs stay
			continue
		}
		if got := TrustedPath(path); got != own {
			t.Errorf("TrustedPath(%s) = %q, want %q", path, got, own)
		}
	}
	if _, err := FindProgram("only", filepath.Join(work, ".bin")); err == nil ||
		!strings.Contains(err.Error(), "commands can change that file") {
		t.Errorf("a program that only the work has: %v", err)
	}
	if file, shadows := ChangeableProgram("tool", filepath.Join(work, "venv")+":"+own); file != filepath.Join(
		work, "venv", "tool",
	) ||
		!shadows {
		t.Errorf("ChangeableProgram = %q, %v", file, shadows)
	}
	if file, shadows := ChangeableProgram("only", filepath.Join(work, ".bin")+":"+own); file == "" || shadows {
		t.Errorf("ChangeableProgram(only) = %q, %v", file, shadows)
	}
	if file, _ := ChangeableProgram("tool", own); file != "" {
		t.Errorf("ChangeableProgram of the user's program = %q", file)
	}
}

// BenchmarkTrustedPath measures the cost of a new session in a directory of its own, on a host of
// many sessions.
func BenchmarkTrustedPath(b *testing.B) {
	path := os.Getenv("PATH")
	for i := range b.N {
		MarkWritable(fmt.Sprintf("/nonexistent/%d", i))
		TrustedPath(path)
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

// A link of "npm link" in a folder of PATH is hidden from programs that settle starts; the other
// programs of the folder stay, also programs that were installed later.
func TestTrustedPathHidesLinkedPrograms(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, bin, modules := filepath.Join(top, "work"), filepath.Join(top, "bin"), filepath.Join(top, "modules")
	for _, name := range []string{"work/cli", "bin/node", "tools/other"} {
		plant(t, filepath.Join(top, filepath.FromSlash(name)))
	}
	for name, target := range map[string]string{
		modules: work, filepath.Join(bin, "tool"): "../modules/cli", filepath.Join(bin, "other"): "../tools/other",
	} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	MarkWritable(work)
	t.Cleanup(func() {
		if err := RemoveShadows(); err != nil {
			t.Error(err)
		}
	})
	names := func() string {
		t.Helper()
		path := TrustedPath(bin)
		entries, err := os.ReadDir(path)
		if err != nil || path == bin {
			t.Errorf("PATH is %q, %v", path, err)
		}
		var list []string
		for _, e := range entries {
			list = append(list, e.Name())
			if _, err := os.Stat(filepath.Join(path, e.Name())); err != nil {
				t.Error(err)
			}
		}
		return strings.Join(list, " ")
	}
	if got := names(); got != "node other" {
		t.Errorf("helper programs find %q", got)
	}
	plant(t, filepath.Join(bin, "later"))
	if err := os.Chtimes(bin, time.Time{}, time.Now().Add(time.Minute)); err != nil { // a clock that is coarse
		t.Fatal(err)
	}
	if got := names(); got != "later node other" {
		t.Errorf("later, helper programs find %q", got)
	}
	MarkWritable(filepath.Join(top, "elsewhere"))
	if got := names(); got != "later node other" {
		t.Errorf("with another session, helper programs find %q", got)
	}
	MarkWritable(filepath.Join(top, "tools"))
	if got := names(); got != "later node" {
		t.Errorf("with a session in their folder, helper programs find %q", got)
	}
	for _, link := range []string{"tool", "other"} {
		if err := os.Remove(filepath.Join(bin, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(bin, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := TrustedPath(bin); got != bin {
		t.Errorf("without the links, PATH is %q", got)
	}
}
