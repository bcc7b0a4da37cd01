package file

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteRefusals(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "one\n")
	f.put("seen.txt", "one\n")
	f.put("dir/x", "")
	f.put("ro.txt", "one\n")
	if err := os.Chmod(f.path("ro.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	f.ok("read", args{"path": "seen.txt"})
	f.ok("read", args{"path": "ro.txt"})
	f.put("seen.txt", "somebody else's\n")
	var b strings.Builder
	for _, in := range []args{
		{"path": "a.txt", "content": "two\n"},
		{"path": "seen.txt", "content": "two\n"},
		{"path": "ro.txt", "content": "two\n"},
		{"path": "dir", "content": "x"},
		{"path": "new/", "content": "x"},
		{"path": "a.txt/b", "content": "x"},
		{"path": "~/x", "content": "x"},
		{"path": "secret.txt", "content": "key = " + mask + "\n"},
		{"path": "a.txt"},
		{"path": "a.txt", "content": 1},
	} {
		fmt.Fprintf(&b, "== %v\n%s\n", in, f.fails("write", in))
	}
	golden(t, "write_refused.golden", b.String())
	f.want("a.txt", "one\n")
	f.want("seen.txt", "somebody else's\n")
	f.want("ro.txt", "one\n")
	f.wantNone("secret.txt")
	f.wantNone("new")
}

func TestWrite(t *testing.T) {
	f := newFixture(t)
	f.put("crlf.txt", "one\r\ntwo\r\n")
	f.put("mixed.txt", "one\r\ntwo\n")
	f.put("bom.txt", utf8BOM+"one\n")
	f.put("empty.txt", "")
	f.put("same.txt", "same\n")
	for _, name := range []string{"crlf.txt", "mixed.txt", "bom.txt"} {
		f.ok("read", args{"path": name})
	}
	for _, tt := range []struct{ path, content, output, want string }{
		{"new/dir/a.txt", "one\ntwo", "created new/dir/a.txt (7 bytes, +2 -0)", "one\ntwo"},
		{"new/dir/a.txt", "three\n", "replaced new/dir/a.txt (6 bytes, +1 -2)", "three\n"},
		{"crlf.txt", "one\n2\n", "replaced crlf.txt (8 bytes, +1 -1); kept its CRLF line endings", "one\r\n2\r\n"},
		{"crlf.txt", "one\n2\n", "unchanged: crlf.txt has this content already", "one\r\n2\r\n"},
		{"mixed.txt", "one\n2\n", "replaced mixed.txt (6 bytes, +2 -2)", "one\n2\n"},
		{"bom.txt", "uno\n", "replaced bom.txt (7 bytes, +1 -1); kept its byte order mark", utf8BOM + "uno\n"},
		{"empty.txt", "x", "replaced empty.txt (1 bytes, +1 -0)", "x"},
		{"same.txt", "same\n", "unchanged: same.txt has this content already", "same\n"},
		{"same.txt", "", "replaced same.txt (0 bytes, +0 -1)", ""},
		{"nothing.txt", "", "created nothing.txt (0 bytes, +0 -0)", ""},
	} {
		if got := f.ok("write", args{"path": tt.path, "content": tt.content}).Output; got != tt.output {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.output)
		}
		f.want(tt.path, tt.want)
	}
}

func TestWriteDetailHasDiff(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	f.ok("read", args{"path": "a.txt"})
	result := f.ok("write", args{"path": "a.txt", "content": "1\n2\n3\n4\nfive\n6\n7\n8\n9"})
	want := []Change{{
		Path: "a.txt", Kind: "update", Added: 2, Removed: 2,
		SHA256: "8a85da914b63a4a242a534231c7d13a0e5b0374da3f3f4ccbbc34046632f1f05",
		Diff:   "--- a/a.txt\n+++ b/a.txt\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n",
		Before: &Past{SHA256: "90cdaf13f564e4d2e76706f84226a554a2bbdb2542c2e48764d16bffd17bb38a", Mode: "0644"},
	}}
	if diff := cmp.Diff(want, f.changes(result)); diff != "" {
		t.Error(diff)
	}
	result = f.ok("write", args{"path": "big.txt", "content": strings.Repeat("0123456789\n", 10_000)})
	c := f.changes(result)[0]
	if len(c.Diff) > maxDiffBytes || !c.Cut || c.Added != 10_000 || c.Kind != "create" {
		t.Errorf("%d bytes of diff, cut %t, %d added, %s", len(c.Diff), c.Cut, c.Added, c.Kind)
	}
}

// Text that a person or a command wrote after the read is never lost.
func TestWriteAfterReadOfPart(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "one\ntwo\nthree\n")
	f.ok("edit", args{"path": "a.txt", "old_string": "two", "new_string": "2"})
	f.fails("write", args{"path": "a.txt", "content": "x"}) // An edit does not count as a read.
	f.ok("read", args{"path": "a.txt"})
	f.ok("edit", args{"path": "a.txt", "old_string": "one", "new_string": "1"})
	f.ok("write", args{"path": "a.txt", "content": "x"}) // The read content with the edits applied counts as known.
	f.put("a.txt", "theirs")
	f.ok("edit", args{"path": "a.txt", "old_string": "their", "new_string": "her"})
	f.fails("write", args{"path": "a.txt", "content": "y"})
	f.want("a.txt", "hers")
}
