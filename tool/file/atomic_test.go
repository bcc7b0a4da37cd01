package file

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/tool"
)

// A concurrent reader sees either content, never a mixture.
func TestReplaceIsAtomic(t *testing.T) {
	f := newFixture(t)
	contents := []string{strings.Repeat("a", 200_000), strings.Repeat("b", 50_000), strings.Repeat("c", 300_000)}
	f.put("x", contents[0])
	f.ok("read", args{"path": "x"})
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() { // ends when done is closed; Wait below waits for it
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := os.ReadFile(f.path("x"))
				if err != nil || len(got) == 0 || bytes.Count(got, got[:1]) != len(got) ||
					string(got) != contents[got[0]-'a'] {
					t.Errorf("saw %d bytes that are no whole content: %v", len(got), err)
					return
				}
			}
		})
	}
	for i := range 40 {
		f.ok("write", args{"path": "x", "content": contents[(i+1)%3]})
	}
	close(done)
	readers.Wait()
}

func TestReplaceKeepsModeAndLink(t *testing.T) {
	f := newFixture(t)
	f.put("real/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(f.path("real/run.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": "real/run.sh", "second": "link", "dangling": "real/new.txt"} {
		if err := os.Symlink(target, f.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	f.ok("read", args{"path": "second"})
	f.ok("write", args{"path": "link", "content": "#!/bin/bash\n"})
	f.want("real/run.sh", "#!/bin/bash\n")
	f.ok("edit", args{"path": "second", "old_string": "bash", "new_string": "zsh"})
	f.want("real/run.sh", "#!/bin/zsh\n")
	f.ok("write", args{"path": "dangling", "content": "new"})
	f.want("real/new.txt", "new")
	for _, link := range []string{"link", "second", "dangling"} {
		if info, err := os.Lstat(f.path(link)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", link, err)
		}
	}
	if info, err := os.Stat(f.path("real/run.sh")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Symlink("loop", f.path("loop")); err != nil {
		t.Fatal(err)
	}
	if got := f.fails("write", args{"path": "loop", "content": "x"}); !strings.Contains(got,
		"too many symbolic links") {
		t.Error(got)
	}
}

// stagedFile returns new content for a file.
func stagedFile(t *testing.T, f *fixture, name string) *staged {
	t.Helper()
	p, err := f.w.locate(tool.Call{Dir: f.dir}, name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	st, err := stage(s, []byte("ours"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestCommitRefusesWhatChangedMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before string // "" for no file
		meddle func(f *fixture) error
		want   string // content afterwards, "" for no file
	}{
		{
			"changed", "one", func(f *fixture) error { return os.WriteFile(f.path("x"), []byte("their work"), 0o644) },
			"their work",
		},
		{"replaced", "one", func(f *fixture) error {
			return errors.Join(os.WriteFile(f.path("y"), []byte("two"), 0o644), os.Rename(f.path("y"), f.path("x")))
		}, "two"},
		{"removed", "one", func(f *fixture) error { return os.Remove(f.path("x")) }, ""},
		{"created", "", func(f *fixture) error { return os.WriteFile(f.path("x"), []byte("theirs"), 0o644) }, "theirs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if tt.before != "" {
				f.put("x", tt.before)
			}
			st := stagedFile(t, f, "x")
			if err := tt.meddle(f); err != nil {
				t.Fatal(err)
			}
			if err := st.commit(); err == nil ||
				!strings.Contains(err.Error(), "by another program during the call; it was not written") {
				t.Errorf("got %v", err)
			}
			if err := st.discard(); err != nil {
				t.Error(err)
			}
			if tt.want == "" {
				f.wantNone("x")
				return
			}
			f.want("x", tt.want)
		})
	}
}

func TestFailedRenameLeavesNoTemp(t *testing.T) {
	f := newFixture(t)
	st := stagedFile(t, f, "x")
	if err := os.Remove(f.path(st.temp)); err != nil { // The rename fails.
		t.Fatal(err)
	}
	if err := st.commit(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	f.wantNone("x")
}

func TestReplaceCancelled(t *testing.T) {
	f := newFixture(t)
	f.put("x", "one")
	p, err := f.w.locate(tool.Call{Dir: f.dir}, "x")
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	if err := replace(ctx, s, []byte("two")); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	f.want("x", "one")
}

// After any write over any content, the file has the written content and its mode, and the
// directory has no other new file.
func TestReplaceProperty(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "case")
		if err != nil {
			t.Fatal(err)
		}
		f := fixtureIn(t, dir)
		defer f.wantNoTemps()
		mode := fs.FileMode(rapid.SampledFrom([]int{0o600, 0o644, 0o755, 0o664, 0o640, 0o777}).Draw(t, "mode"))
		f.put("x", "first")
		if err := os.Chmod(f.path("x"), mode); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "writes") {
			content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
			p, err := f.w.locate(tool.Call{Dir: dir}, "x")
			if err != nil {
				t.Fatal(err)
			}
			s, err := load(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			err = replace(context.Background(), s, content)
			s.close()
			if err != nil {
				t.Fatal(err)
			}
			f.want("x", string(content))
		}
		info, err := os.Stat(f.path("x"))
		if err != nil || info.Mode().Perm() != mode {
			t.Fatalf("mode %v, want %v: %v", info.Mode(), mode, err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
			t.Fatalf("also there: %v", names)
		}
	})
}

// A call that fails or is interrupted before the write leaves no directories.
func TestUnwrittenFileLeavesNoDirectories(t *testing.T) {
	f := newFixture(t)
	p, err := f.w.locate(tool.Call{Dir: f.dir}, "a/b/x")
	if err != nil {
		t.Fatal(err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := load(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := replace(interrupted, s, []byte("x")); err == nil {
		t.Error("the file is written")
	}
	f.wantNone("a")
	st := stagedFile(t, f, "a/b/x")
	f.put("a/theirs", "t")
	if err := st.discard(); err != nil {
		t.Fatal(err)
	}
	f.wantNone("a/b")
	f.want("a/theirs", "t")
}
