package quarantine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folders makes a tree of n folders.
func folders(t testing.TB, dir string, n int) {
	t.Helper()
	for i := range n {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint("d", i/100), fmt.Sprint("e", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// says reports whether a finding about a path contains a text.
func says(list []Finding, path, what string) bool {
	for _, f := range list {
		if f.Path == path && strings.Contains(f.String(), what) {
			return true
		}
	}
	return false
}

const (
	incomplete = "settle has not looked through all of it"
	complete   = "settle has now looked through all of it"
)

// C9, C22: a look ends with its call and reports it. Unread files are not trusted, and a
// later look finds them.
func TestLookEndsWithItsCall(t *testing.T) {
	for _, watching := range []bool{true, false} {
		t.Run(fmt.Sprint(watching), func(t *testing.T) {
			dir := real(t)
			g := guarded(t, dir)
			if !watching {
				_ = g.watch.close()
				g.watch = nil
			}
			folders(t, dir, 300)
			files(t, dir, repository("z/.git", evil))
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			if found := g.Check(cancelled); len(found) != 1 || !says(found, dir, incomplete) {
				t.Errorf("after a cancelled look: %v", found)
			}
			g.limits.folders = 10
			g.Leave()
			if found := g.Check(t.Context()); len(found) != 1 || !says(found, dir, "too many folders") {
				t.Errorf("after a look that was cut: %v", found)
			}
			g.limits.folders = maxFolders
			enter(t, g, dir) // no new file belongs to the user yet
			if found := g.Check(t.Context()); !says(found, filepath.Join(dir, "z/.git/config"),
				"is now config-quarantined-1") || !says(found, dir, complete) {
				t.Errorf("after a look at everything: %v", found)
			}
			if found := g.Check(t.Context()); found != nil {
				t.Errorf("again: %v", found)
			}
		})
	}
}

// A command whose call ended before the look was complete does not start; existing files
// still belong to the user.
func TestCancelledEntryIsBegunAnew(t *testing.T) {
	dir, other := real(t), real(t)
	files(t, dir, repository("mine/.git", evil))
	files(t, other, repository("mine/.git", evil))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	if err := g.Enter(cancelled, Area{Look: []string{dir}}); err == nil {
		t.Error("the command starts")
	}
	enter(t, g, dir)
	if err := g.Enter(cancelled, Area{Look: []string{dir, other}}); err == nil { // while another command runs
		t.Error("the command starts")
	}
	files(t, dir, repository("yours/.git", evil))
	files(t, other, repository("mine too/.git", evil))
	g.Leave()
	if err := g.Enter(t.Context(), Area{Look: []string{dir, other}}); err != nil {
		t.Fatal(err)
	}
	if found := g.Check(t.Context()); len(found) != 1 || found[0].Path != filepath.Join(dir, "yours/.git/config") {
		t.Errorf("%v", found)
	}
}

// Repositories that a look before the first command could not read can belong to the user:
// findings name them, and they stay.
func TestUnseenRepositoriesAreNamed(t *testing.T) {
	dir := real(t)
	folders(t, dir, 300)
	files(t, dir, repository("z/.git", evil))
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	g.limits.folders = 10
	enter(t, g, dir)
	g.limits.folders = maxFolders
	config := filepath.Join(dir, "z/.git/config")
	if found := g.Check(t.Context()); len(found) != 1 || !says(found, config, "it may be yours") {
		t.Errorf("%v", found)
	}
	if _, err := os.Lstat(config); err != nil {
		t.Error(err)
	}
	g.Leave()
	enter(t, g, dir) // the look was complete: existing files belong to the user
	files(t, dir, repository("y/.git", evil))
	if found := g.Check(t.Context()); len(found) != 1 || found[0].Moved == "" {
		t.Errorf("%v", found)
	}
}

// A call that ends during another look does not wait for it, and reports that it still
// runs.
func TestCheckDoesNotWait(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	g.lock <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if found := g.Check(ctx); len(found) != 1 || !strings.Contains(found[0].Why, incomplete) {
		t.Errorf("%v", found)
	}
	if err := g.Enter(ctx, Area{Look: []string{dir}}); err == nil {
		t.Error("the command starts")
	}
	g.release()
	g.Leave()
	if found := g.Check(t.Context()); len(found) != 1 || !says(found, dir, complete) {
		t.Errorf("%v", found)
	}
}

// The end of a session cuts the current look and bounds its own look. Unread folders are an
// error.
func TestCloseIsBounded(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	folders(t, dir, 300)
	g.limits.folders = 10
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), incomplete) {
		t.Errorf("%v", err)
	}
	g.Leave() // the command ends later
}

// Thousands of findings are summarised.
func TestFindingsAreBounded(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	for i := range maxFindings + 10 {
		files(t, dir, repository(fmt.Sprint("n", i, "/.git"), evil))
	}
	found := g.Check(t.Context())
	if len(found) != maxFindings+1 || !strings.Contains(found[maxFindings].Why, "10 more findings") {
		t.Errorf("%d: %v", len(found), found[len(found)-1])
	}
}

// The bounds also hold for one folder with very many entries.
func TestManyEntriesOfOneFolder(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	files(t, dir, repository("n/.git", ""))
	for i := range 3 * batch {
		if err := os.Symlink("/elsewhere", filepath.Join(dir, "n/.git", fmt.Sprint("link", i))); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if found := g.Check(cancelled); len(found) != 1 || !says(found, dir, incomplete) {
		t.Errorf("%v", found)
	}
	if found := g.Check(t.Context()); len(found) != maxFindings+1 {
		t.Errorf("%d", len(found))
	}
}
