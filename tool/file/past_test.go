package file

import (
	"crypto/sha256"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
)

// keeping returns a fixture whose workspace stores earlier contents; now, if set, inspects
// the directory at that time.
func keeping(t *testing.T, now func(f *fixture, content string) error) (*fixture, *[]string) {
	t.Helper()
	f, kept := newFixture(t), &[]string{}
	f.w = NewWorkspace(Config{Keep: func(content []byte) error {
		*kept = append(*kept, string(content))
		if now != nil {
			return now(f, string(content))
		}
		return nil
	}})
	set, err := tool.NewSet(f.w.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	f.set = set
	return f, kept
}

// A file's content is stored before the file is replaced, moved or deleted, and the call's
// change names it.
func TestContentsAreKept(t *testing.T) {
	f, kept := keeping(t, func(f *fixture, content string) error {
		f.want(map[string]string{"one\n": "a", "two\n": "a", "d\n": "d", "m\n": "m"}[content], content)
		return nil
	})
	f.put("a", "one\n")
	f.put("d", "d\n")
	f.put("m", "m\n")
	if err := os.Chmod(f.path("m"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.ok("read", args{"path": "a"})
	f.ok("write", args{"path": "a", "content": "one\n"}) // changes nothing
	f.ok("write", args{"path": "new", "content": "n\n"})
	if len(*kept) > 0 {
		t.Errorf("kept without need: %q", *kept)
	}
	past := func(content, mode string) *Past {
		return &Past{hexDigest(sum(content)), mode}
	}
	got := f.changes(f.ok("write", args{"path": "a", "content": "two\n"}))
	got = append(got, f.changes(f.ok("edit", args{"path": "a", "old_string": "two", "new_string": "three"}))...)
	got = append(got, f.changes(f.ok(
		"apply_patch",
		args{
			"input": "*** Begin Patch\n*** Delete File: d\n*** Update File: m\n*** Move to: sub/m2\n-m\n+mm\n*** Add File: x\n+x\n*** End Patch",
		},
	))...)
	type pair struct {
		path          string
		before, moved *Past
	}
	var pairs []pair
	for _, c := range got {
		pairs = append(pairs, pair{c.Path, c.Before, c.Moved})
	}
	want := []pair{
		{"a", past("one\n", "0644"), nil},
		{"a", past("two\n", "0644"), nil},
		{"sub/m2", nil, past("m\n", "0755")},
		{"x", nil, nil},
		{"d", past("d\n", "0644"), nil},
	}
	if diff := cmp.Diff(want, pairs, cmp.AllowUnexported(pair{})); diff != "" {
		t.Error(diff)
	}
	slices.Sort(*kept)
	if diff := cmp.Diff([]string{"d\n", "m\n", "one\n", "two\n"}, *kept); diff != "" {
		t.Error(diff)
	}
}

// A full store does not stop a call.
func TestContentsThatCannotBeKept(t *testing.T) {
	f, _ := keeping(t, func(*fixture, string) error { return errors.New("the disk is full") })
	f.put("a", "one\n")
	f.ok("edit", args{"path": "a", "old_string": "one", "new_string": "two"})
	f.want("a", "two\n")
}

// A change through a symbolic link names the real file.
func TestChangeThroughALink(t *testing.T) {
	f, _ := keeping(t, nil)
	f.put("real/a", "one\n")
	if err := os.Symlink("real/a", f.path("link")); err != nil {
		t.Fatal(err)
	}
	c := f.changes(f.ok("edit", args{"path": "link", "old_string": "one", "new_string": "two"}))[0]
	if c.Path != "link" || c.Real != f.path("real/a") {
		t.Errorf("%+v", c)
	}
	at := Target{f.dir, c.Path, c.Real}
	now, err := at.Look(t.Context())
	if err != nil || string(now.Content) != "two\n" {
		t.Fatalf("%+v, %v", now, err)
	}
	if err := at.Restore(t.Context(), now.Past, c.Before, []byte("one\n")); err != nil {
		t.Fatal(err)
	}
	f.want("real/a", "one\n")
	// The link now leads to another file, or is a file itself.
	f.put("other", "one\n")
	for _, change := range []func() error{
		func() error { return os.Symlink("other", f.path("link")) },
		func() error { return os.WriteFile(f.path("link"), []byte("one\n"), 0o600) },
		func() error { return os.Mkdir(f.path("link"), 0o700) },
	} {
		if err := errors.Join(os.Remove(f.path("link")), change()); err != nil {
			t.Fatal(err)
		}
		if got, err := at.Look(t.Context()); err == nil {
			t.Errorf("it was taken for the file of before: %+v", got)
		}
		if err := at.Restore(t.Context(), now.Past, c.Before, []byte("lost")); err == nil {
			t.Error("something else was written")
		}
	}
	f.want("real/a", "one\n")
	f.want("other", "one\n")
}

func TestRestore(t *testing.T) {
	f := newFixture(t)
	f.put("a", "left\n")
	left, was := &Past{SHA256: hexDigest(sum("left\n"))}, &Past{hexDigest(sum("was\n")), "0750"}
	at := Target{Dir: f.dir, Path: "a"}
	if err := at.Restore(t.Context(), was, left, []byte("no")); err == nil {
		t.Error("a file that is something else was replaced")
	}
	if err := at.Restore(t.Context(), nil, left, []byte("no")); err == nil {
		t.Error("a file that was not to be there was replaced")
	}
	f.want("a", "left\n")
	if err := at.Restore(t.Context(), left, nil, nil); err != nil {
		t.Fatal(err)
	}
	f.wantNone("a")
	if err := at.Restore(t.Context(), left, nil, nil); err == nil {
		t.Error("a file that is gone was removed")
	}
	deep := Target{Dir: f.dir, Path: "gone/too/a"}
	if err := deep.Restore(t.Context(), nil, was, []byte("was\n")); err != nil {
		t.Fatal(err)
	}
	f.want("gone/too/a", "was\n")
	if info, err := os.Stat(f.path("gone/too/a")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func sum(content string) digest { return sha256.Sum256([]byte(content)) }
