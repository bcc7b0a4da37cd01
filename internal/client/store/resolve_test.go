package store

import (
	"strings"
	"testing"
)

// A list shows as much of an id as is enough to name the session, and an ambiguous beginning
// lists the beginnings that are enough.
func TestBeginningsNameSessions(t *testing.T) {
	dir := t.TempDir()
	ids := []string{"01a21ef4-12aa-7000", "01a21ef4-12ab-7000", "01a21ef4-13aa-7000", "other", "other-one"}
	for _, id := range ids {
		if err := written(t, dir, id).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	enough, err := Beginnings(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if got, err := Resolve(dir, enough[id]); got != id || err != nil {
			t.Errorf("%q names %q: %v", enough[id], got, err)
		}
	}
	if got := enough["01a21ef4-13aa-7000"]; got != "01a21ef4-13" {
		t.Errorf("got %q", got)
	}
	if _, err := Resolve(dir, "01a2"); err == nil || !strings.Contains(
		err.Error(), "is ambiguous: 01a21ef4-12aa, 01a21ef4-12ab, 01a21ef4-13; use more of the id",
	) {
		t.Errorf("got %v", err)
	}
}
