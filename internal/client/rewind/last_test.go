package rewind

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
)

// refuses checks that no snapshot is found, and why.
func refuses(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, want := range words {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("there is no %q in: %v", want, err)
		}
	}
}

// After a rewind, its copy is the session that continues; after its undo it is the original again,
// whose history fits the files.
func TestLastSessionAfterUndo(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n"}, []call{edit("a", "1", "2")}, []call{edit("a", "2", "3")})
	continues := func(when, want string) {
		t.Helper()
		if got, err := LastSession(t.Context(), b.data, b.dir); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
	}
	rewound := b.fork(b.plan("1"))
	continues("rewound", rewound.Session)
	undone := b.undo(rewound.Snapshot)
	continues("undone", b.session)
	repeated := b.undo(undone.Snapshot)
	continues("repeated", rewound.Session)
	b.undo(repeated.Snapshot)
	second := b.fork(b.plan("2"))
	continues("rewound to the second input", second.Session)
	b.undo(second.Snapshot)
	continues("undone too", b.session)
}

// The last rewind of a directory is undone once. A rewind that was repeated can be undone again.
func TestLastSnapshotIsUndoneOnce(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n"}, []call{edit("a", "1", "2")}, []call{edit("a", "2", "3")})
	_, err := LastSnapshot(t.Context(), b.data, b.dir)
	refuses(t, err, "no rewind has changed files in", b.dir)
	if _, err := SnapshotOf(b.data, b.session); err == nil {
		t.Error("a session without a rewind has a snapshot")
	}
	last := func(want string) string {
		t.Helper()
		at, err := LastSnapshot(t.Context(), b.data, b.dir)
		if err != nil || at != want {
			t.Fatalf("the last snapshot is %q, %v; want %q", at, err, want)
		}
		return at
	}
	first := b.fork(b.plan("2"))
	last(first.Snapshot)
	original := b.session
	b.session = first.Session
	second := b.fork(b.plan("1"))
	undone := b.undo(last(second.Snapshot))
	b.wants("undone", map[string]string{"a": "2\n"})
	_, err = LastSnapshot(t.Context(), b.data, b.dir)
	refuses(t, err, "it was undone at", "\n  settle rewind --undo "+second.Session)
	repeated := b.undo(undone.Snapshot)
	b.wants("repeated", map[string]string{"a": "1\n"})
	b.undo(last(repeated.Snapshot))
	b.wants("undone again", map[string]string{"a": "2\n"})
	for session, want := range map[string]string{
		first.Session: first.Snapshot, second.Session: repeated.Snapshot, original: first.Snapshot,
	} {
		if at, err := SnapshotOf(b.data, session); err != nil || at != want {
			t.Errorf("the snapshot of %s is %q, %v; want %q", session, at, err, want)
		}
	}
}

// A rewind in another directory is not the last one here, whatever its time; through a link, the
// directory is the same.
func TestLastSnapshotIsOfDirectory(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n"}, []call{edit("a", "1", "2")})
	r := b.fork(b.plan(""))
	here := b.dir
	b.dir, b.session = t.TempDir(), "other"
	b.put("a", "1\n")
	b.turns([]call{edit("a", "1", "2")})
	b.fork(b.plan(""))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{here, link} {
		if at, err := LastSnapshot(t.Context(), b.data, dir); err != nil || at != r.Snapshot {
			t.Errorf("the last snapshot in %s is %q, %v; want %q", dir, at, err, r.Snapshot)
		}
	}
}

// A snapshot without a manifest belongs to a rewind that changed nothing. With a manifest that
// cannot be read, it can be the last one.
func TestLastSnapshotWithUnreadableOnes(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n"}, []call{edit("a", "1", "2")})
	r := b.fork(b.plan(""))
	output := settle.Store{Dir: b.data}.OutputDir("broken")
	create := func(name string) string {
		dir := filepath.Join(output, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, manifest)
	}
	create("rewound-29990101-000000-abc")
	for _, path := range []string{create("rewound-20000101-000000-abc"), create("rewound-29990101-000000-def")} {
		if at, err := LastSnapshot(t.Context(), b.data, b.dir); err != nil || at != r.Snapshot {
			t.Errorf("the last snapshot is %q, %v; want %q", at, err, r.Snapshot)
		}
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := LastSnapshot(t.Context(), b.data, b.dir)
	refuses(t, err, "cannot tell which rewind", "rewound-29990101-000000-def", "--undo SESSION")
	if at, err := SnapshotOf(b.data, r.Session); err != nil || at != r.Snapshot {
		t.Errorf("the snapshot of the session is %q, %v; want %q", at, err, r.Snapshot)
	}
}

// Manifests of earlier versions do not name the operation that made them.
func TestManifestWithoutKind(t *testing.T) {
	for text, want := range map[string]kind{
		`{"fork": "f"}`: kindRewind, `{}`: kindUndo, `{"kind": "rewind"}`: kindRewind,
		`{"kind": "undo", "fork": "f"}`: kindUndo,
	} {
		var m snapshot
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.madeBy() != want {
			t.Errorf("%s: %q, %v", text, m.madeBy(), err)
		}
	}
}
