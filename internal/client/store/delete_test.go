package store

import (
	"errors"
	"os"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/journal"
)

// A session that gets the id of a deleted session later has nothing of the deleted session.
func TestDelete(t *testing.T) {
	dir := t.TempDir()
	if err := written(t, dir, "one", asking("x")...).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(settle.Store{Dir: dir}.OutputDir("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Rename(dir, "one", "A name"), Archive(dir, "one")); err != nil {
		t.Fatal(err)
	}
	if name := Name(dir, "one"); name != "A name" || !IsArchived(dir, "one") {
		t.Errorf("its name is %q, archived: %t", name, IsArchived(dir, "one"))
	}
	if err := Delete(t.Context(), dir, "one"); err != nil {
		t.Fatal(err)
	}
	_, outputs := os.Stat(settle.Store{Dir: dir}.OutputDir("one"))
	_, log := journal.Load(dir, "one")
	if Name(dir, "one") != "" || IsArchived(dir, "one") || outputs == nil || log == nil {
		t.Errorf(
			"left: name %q, archived %t, outputs %v, log %v",
			Name(dir, "one"),
			IsArchived(dir, "one"),
			outputs,
			log,
		)
	}
	if err := Unarchive(dir, "one"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was brought back: %v", err)
	}
}

// An id that clients send names no other file.
func TestNamesOfOtherFiles(t *testing.T) {
	for _, id := range []string{"", "../x", `a\b`, ".hidden"} {
		if Name("/", id) != "" || IsArchived("/", id) {
			t.Errorf("%q is a session", id)
		}
	}
}
