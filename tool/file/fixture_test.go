package file

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

var update = flag.Bool("update", false, "write the goldens anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

const mask = "[settle:secret]"

// tb is the common interface of tests, fuzz targets and rapid's checks.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// fixture is a directory with tools that work in it.
type fixture struct {
	tb
	dir string
	set *tool.Set
	w   *Workspace
}

// newFixture also checks, at the end, that no temporary file remains.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := fixtureIn(t, t.TempDir())
	t.Cleanup(f.wantNoTemps)
	return f
}

func fixtureIn(t tb, dir string) *fixture {
	t.Helper()
	w := NewWorkspace(Config{Masked: func(s string) bool { return strings.Contains(s, mask) }})
	set, err := tool.NewSet(w.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{tb: t, dir: dir, set: set, w: w}
}

func (f *fixture) wantNoTemps() {
	f.Helper()
	err := filepath.WalkDir(f.dir, func(path string, _ fs.DirEntry, err error) error {
		if disk.IsTempName(filepath.Base(path)) {
			f.Errorf("temporary file left: %s", path)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *fixture) put(name, content string) {
	f.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(content), 0o644); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) want(name, content string) {
	f.Helper()
	got, err := os.ReadFile(f.path(name))
	if err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff(content, string(got)); diff != "" {
		f.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func (f *fixture) wantNone(name string) {
	f.Helper()
	if _, err := os.Lstat(f.path(name)); !os.IsNotExist(err) {
		f.Errorf("%s exists: %v", name, err)
	}
}

type args map[string]any

func (f *fixture) run(name string, in args) (tool.Result, error) {
	f.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		f.Fatal(err)
	}
	return f.set.Run(context.Background(), tool.Call{Name: name, Args: raw, Dir: f.dir})
}

// ok runs a call that must succeed.
func (f *fixture) ok(name string, in args) tool.Result {
	f.Helper()
	result, err := f.run(name, in)
	if err != nil {
		f.Fatalf("%s %v: %v", name, in, err)
	}
	return result
}

// fails runs a call that must fail and returns the model's result, with the fixture's
// directory replaced.
func (f *fixture) fails(name string, in args) string {
	f.Helper()
	result, err := f.run(name, in)
	if err == nil {
		f.Fatalf("%s %v succeeded: %s", name, in, result.Output)
	}
	return strings.ReplaceAll(err.Error(), f.dir, "/work")
}

func (f *fixture) changes(result tool.Result) []Change {
	f.Helper()
	var c Changes
	if err := json.Unmarshal(result.Detail, &c); err != nil {
		f.Fatalf("detail %q: %v", result.Detail, err)
	}
	return c.Files
}
