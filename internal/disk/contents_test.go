package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func kept(t *testing.T, s *ContentStore, content []byte) bool {
	t.Helper()
	got, err := s.Get(Sum(content))
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) {
		t.Errorf("got %q, want %q", got, content)
	}
	return true
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "files")
	s := NewContentStore(dir, 1000)
	for _, content := range []string{"", "one\n", "\x00\xff binary \r\n", "one\n"} {
		if kept(t, NewContentStore(dir, 1000), []byte("never")) {
			t.Error("what was never kept is there")
		}
		if err := s.Keep([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if !kept(t, NewContentStore(dir, 1000), []byte(content)) { // as another process has it
			t.Errorf("%q is not kept", content)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("there are %v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	// Damaged content is not returned.
	if err := os.WriteFile(filepath.Join(dir, Sum([]byte("one\n"))), []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept(t, s, []byte("one\n")) {
		t.Error("a damaged content is given out")
	}
	for _, name := range []string{"", "..", "../x", "/etc/passwd", Sum(nil) + "/.."} {
		if _, err := s.Get(name); err == nil {
			t.Errorf("there is a content %q", name)
		}
	}
}

// The oldest contents are deleted first, and content that is used again counts as new.
func TestStoreIsBounded(t *testing.T) {
	dir := t.TempDir()
	content := func(n int) []byte { return fmt.Appendf(nil, "%0100d", n) }
	old := time.Now().Add(-time.Hour)
	s := NewContentStore(dir, 450)
	for n := range 4 {
		if err := s.Keep(content(n)); err != nil {
			t.Fatal(err)
		}
		at := old.Add(time.Duration(n) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, Sum(content(n))), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Keep(content(0)); err != nil {
		t.Fatal(err)
	}
	for _, reopened := range []*ContentStore{s, NewContentStore(dir, 450)} {
		if err := reopened.Keep(content(4)); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range []bool{true, false, true, true, true} {
		if got := kept(t, s, content(n)); got != want {
			t.Errorf("content %d: %t, want %t", n, got, want)
		}
	}
	if err := s.Keep(bytes.Repeat([]byte("x"), 451)); err == nil {
		t.Error("more than the bound was kept")
	}
	if !kept(t, s, content(4)) {
		t.Error("what cannot be kept drove out what was")
	}
}

func TestCopyTo(t *testing.T) {
	root := t.TempDir()
	from, to := NewContentStore(filepath.Join(root, "a"), 1000), NewContentStore(filepath.Join(root, "b"), 1000)
	if err := from.CopyTo(to); err != nil { // there is nothing
		t.Fatal(err)
	}
	for _, content := range []string{"one", "two"} {
		if err := from.Keep([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := from.CopyTo(to); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if !kept(t, to, []byte("one")) || !kept(t, to, []byte("two")) {
		t.Error("the copy went with the original")
	}
}

func TestStoreInParallel(t *testing.T) {
	s := NewContentStore(t.TempDir(), 1<<20)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for k := range 20 {
				if err := s.Keep(fmt.Appendf(nil, "%d", (n+k)%10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n := range 10 {
		if !kept(t, s, fmt.Appendf(nil, "%d", n)) {
			t.Errorf("%d is not kept", n)
		}
	}
}
