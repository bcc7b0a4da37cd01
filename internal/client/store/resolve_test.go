package store

import (
	"errors"
	"strings"
	"testing"
)

// A list shows as much of an id as is enough to name the session, and an ambiguous beginning
// lists the beginnings that are enough.
func TestBeginningsNameSessions(t *testing.T) {
	dir := t.TempDir()
	const rest = "-7000-8000-000000000000"
	ids := []string{"01a21ef4-12aa" + rest, "01a21ef4-12ab" + rest, "01a21ef4-13aa" + rest, "other", "other-one"}
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
	if got := enough["01a21ef4-13aa"+rest]; got != "01a21ef4-13" {
		t.Errorf("got %q", got)
	}
	_, err = Resolve(dir, "01a2")
	if _, ok := errors.AsType[*AmbiguousError](err); !ok || !strings.Contains(
		err.Error(), "is ambiguous: 01a21ef4-12aa, 01a21ef4-12ab, 01a21ef4-13; use more of the id",
	) {
		t.Errorf("got %v", err)
	}
}

// A command that deletes without a question takes no short beginning of an id: the second deletion
// of the chosen name "0" would otherwise mean the only generated id.
func TestResolveWholeRefusesShortBeginnings(t *testing.T) {
	dir := t.TempDir()
	const id = "01a21ef4-12aa-7000-8000-000000000000"
	for _, id := range []string{id, "ci"} {
		if err := written(t, dir, id).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"0": "", "01a21ef": "", "01a21ef4": id, id: id, "ci": "ci", "c": "",
	} {
		if got, err := ResolveWhole(dir, name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q names %q, %v; want %q", name, got, err, want)
		}
	}
}

// A name that a person chose is exact: the beginning of another name means no session, and neither do
// its jobs.
func TestChosenNamesAreExact(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"ci-2", "cafe", "cafe1ef4-12aa-7000-8000-000000000000"} {
		if err := written(t, dir, id).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"ci-2": "ci-2", "cafe": "cafe", "cafe1": "cafe1ef4-12aa-7000-8000-000000000000",
		"ci": "", "ci-": "", "caf": "cafe1ef4-12aa-7000-8000-000000000000", "cafe2": "",
	} {
		got, err := Resolve(dir, name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q names %q, %v; want %q", name, got, err, want)
		}
	}
	if j, err := FindJob(dir, "ci/j000001"); err == nil || !strings.Contains(err.Error(), `no session "ci"`) {
		t.Errorf("found the job %q: %v", j.Name(), err)
	}
}
