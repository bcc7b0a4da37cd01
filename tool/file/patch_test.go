package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settle-agent/settle/tool"
	"pgregory.net/rapid"
)

func patch(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
}

func TestPatchUpdate(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		patch               []string
	}{
		{"one change", "a\nb\nc\n", "a\nB\nc\n", []string{"@@", " a", "-b", "+B", " c"}},
		{"without @@", "a\nb\nc\n", "a\nB\nc\n", []string{" a", "-b", "+B"}},
		{"two changes", "a\nb\nc\nd\n", "A\nb\nc\nD\n", []string{"@@", "-a", "+A", "@@", "-d", "+D"}},
		{"anchor chooses", "f:\n x\ng:\n x\n", "f:\n x\ng:\n y\n", []string{"@@ g:", "- x", "+ y"}},
		{
			"anchors nest", "A\n f\n  x\nB\n f\n  x\n", "A\n f\n  x\nB\n f\n  y\n",
			[]string{"@@ B", "@@ f", "-  x", "+  y"},
		},
		{"anchor repeated as context", "f:\n x\ng:\n x\n", "f:\n x\ng:\n y\n", []string{"@@ g:", " g:", "- x", "+ y"}},
		{"anchor, only additions", "f:\n x\ng:\n", "f:\n new\n x\ng:\n", []string{"@@ f:", "+ new"}},
		{"only additions", "a\nb\n", "a\nb\nc\n", []string{"@@", "+c"}},
		{"end of file", "x\nx\n", "x\ny\n", []string{"@@", "-x", "+y", "*** End of File"}},
		{"end of file, blank context", "a\nb\n", "a\nb\nc\n", []string{"@@", " b", "+c", " ", "*** End of File"}},
		{"missing newline stays", "a\nb", "a\nB", []string{"@@", "-b", "+B"}},
		{"missing newline, added after", "a\nb", "a\nb\nc", []string{"@@", " b", "+c"}},
		{"missing newline, last removed", "a\nb", "a", []string{"@@", " a", "-b"}},
		{"CRLF stays", "a\r\nb\r\nc\r\n", "a\r\nB\r\nX\r\nc\r\n", []string{"@@", " a", "-b", "+B", "+X"}},
		{"mixed stays", "a\r\nb\nc\r\nd\n", "a\r\nb\nC\r\nX\r\nd\n", []string{"@@", " b", "-c", "+C", "+X"}},
		{"BOM stays", utf8BOM + "a\nb\n", utf8BOM + "A\nb\n", []string{"@@", "-a", "+A"}},
		{"other bytes stay", "\xff\xfe\na\n\xe9\n", "\xff\xfe\nb\n\xe9\n", []string{"@@", "-a", "+b"}},
		{"trailing space of context stays", "a  \nb\n", "a  \nB\n", []string{"@@", " a", "-b", "+B"}},
		{"typographic signs of context stay", "“q” – x\nb\n", "“q” – x\nB\n", []string{"@@", ` "q" - x`, "-b", "+B"}},
		{"exact before loose", "a \na\n", "a \nb\n", []string{"@@", "-a", "+b"}},
		{"blank context without its space", "a\n\nb\n", "a\n\nB\n", []string{"@@", " a", "", "-b", "+B"}},
		{"blank lines between changes", "a\nb\n", "A\nB\n", []string{"@@", "-a", "+A", "", "@@", "-b", "+B", ""}},
		{"everything removed", "a\n", "", []string{"@@", "-a"}},
		{"into an empty file", "", "a\n", []string{"@@", "+a"}},
		{"patch in CRLF", "a\n", "b\n", []string{"@@\r", "-a\r", "+b\r"}},
		{
			"line like a marker", "*** End Patch\nb\n", "*** End Patch\nB\n",
			[]string{"@@", " *** End Patch", "-b", "+B"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.put("x", tt.before)
			f.ok("apply_patch", args{"input": patch(append([]string{"*** Update File: x"}, tt.patch...)...)})
			f.want("x", tt.after)
		})
	}
}

func TestPatchErrors(t *testing.T) {
	f := newFixture(t)
	f.put("main.go", goSource)
	f.put("a.txt", "one\ntwo\nthree\ntwo\n")
	f.put("dir/x", "")
	if err := os.Symlink("a.txt", f.path("link")); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, in := range []string{
		"just text",
		"<<EOF\n" + patch("*** Delete File: a.txt") + "EOF",
		"*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1",
		"*** Begin Patch\n*** End Patch",
		patch("*** Delete File: a.txt") + "and more",
		patch("*** Remove File: a.txt"),
		patch("*** Update File:"),
		patch("*** Update File: a.txt"),
		patch("*** Update File: a.txt", "@@"),
		patch("*** Update File: a.txt", "@@ -1,3 +1,3 @@", "-one", "+1"),
		patch("*** Update File: a.txt", "@@one", "-two"),
		patch("*** Update File: a.txt", "@@", "one", "+1"),
		patch("*** Update File: a.txt", "*** Move to:", "@@", "-one"),
		patch("*** Add File: b.txt", "no plus"),
		patch("*** Add File: b.txt", "+one", "", "+two"),
		patch("*** Delete File: a.txt", "-one"),
		patch("*** Add File: a.txt", "+x"),
		patch("*** Add File: dir", "+x"),
		patch("*** Delete File: none.txt"),
		patch("*** Delete File: link"),
		patch("*** Update File: none.txt", "@@", "-x"),
		patch("*** Update File: ~/x", "@@", "-x"),
		patch("*** Update File: a.txt", "@@", "-two", "+2"),
		patch("*** Update File: a.txt", "@@", " one", "-four", "+4"),
		patch("*** Update File: a.txt", "@@", "-three", "+3", "@@", "-one", "+1"),
		patch("*** Update File: a.txt", "@@ four", "-two", "+2"),
		patch("*** Update File: a.txt", "@@", "-three", "+3", "@@ one", "-two"),
		patch("*** Update File: a.txt", "@@ three", "-one", "+1"),
		patch("*** Update File: a.txt", "@@", "-one", "+1", "*** End of File"),
		patch("*** Update File: a.txt", "@@", "-one", "+one"),
		patch("*** Update File: a.txt", "@@", "-one", "+"+mask),
		patch("*** Add File: b.txt", "+"+mask),
		patch("*** Update File: a.txt", "*** Move to: main.go"),
		patch("*** Update File: link", "*** Move to: other"),
		patch("*** Update File: main.go", "@@ func main() {", "     fmt.Println(\"hello\")", "-    if true {"),
		patch("*** Add File: new.txt", "+x", "*** Update File: a.txt", "@@", "-nope", "+y"),
	} {
		fmt.Fprintf(&b, "== %s\n-- %s\n\n", in, f.fails("apply_patch", args{"input": in}))
	}
	golden(t, "patch_errors.golden", b.String())
	f.want("a.txt", "one\ntwo\nthree\ntwo\n")
	f.want("main.go", goSource)
	f.wantNone("new.txt")
	f.wantNone("b.txt")
}

func TestPatchManyFiles(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "a\n")
	f.put("b.txt", "b\n")
	f.put("run.sh", "#!/bin/sh\nold\n")
	f.put("twice.txt", "1\n2\n")
	f.put("anew.txt", "old\n")
	if err := os.Chmod(f.path("run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	result := f.ok("apply_patch", args{"input": patch(
		"*** Add File: new/dir/c.txt", "+one", "+", "+three",
		"*** Add File: empty.txt",
		"*** Update File: a.txt", "@@", "-a", "+A",
		"*** Delete File: b.txt",
		"*** Update File: run.sh", "*** Move to: bin/run.sh", "@@", "-old", "+new",
		"*** Update File: twice.txt", "@@", "-1", "+one",
		"*** Update File: twice.txt", "@@", "-2", "+two",
		"*** Delete File: anew.txt", "*** Add File: anew.txt", "+new",
	)})
	f.want("new/dir/c.txt", "one\n\nthree\n")
	f.want("empty.txt", "")
	f.want("a.txt", "A\n")
	f.wantNone("b.txt")
	f.wantNone("run.sh")
	f.want("bin/run.sh", "#!/bin/sh\nnew\n")
	f.want("twice.txt", "one\ntwo\n")
	f.want("anew.txt", "new\n")
	if info, err := os.Stat(f.path("bin/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	want := `patched:
A new/dir/c.txt (+3 -0)
A empty.txt (+0 -0)
M a.txt (+1 -1)
R bin/run.sh (+1 -1) from run.sh
M twice.txt (+2 -2)
M anew.txt (+1 -1)
D b.txt (+0 -1)`
	if diff := cmp.Diff(want, result.Output); diff != "" {
		t.Error(diff)
	}
	kinds := ""
	for _, c := range f.changes(result) {
		kinds += string(c.Kind) + " "
	}
	if kinds != "create create update move update update delete " {
		t.Error(kinds)
	}
	f.ok("write", args{"path": "new/dir/c.txt", "content": "known, since written"})
}

func TestPatchFailsOnTheWay(t *testing.T) {
	f := newFixture(t)
	f.put("a.txt", "a\n")
	f.put("b.txt", "b\n")
	ops, err := parsePatch(patch("*** Update File: a.txt", "@@", "-a", "+A", "*** Update File: b.txt", "@@", "-b",
		"+B"))
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{w: f.w, call: tool.Call{Dir: f.dir}, files: map[string]*planned{}}
	defer func() { p.close() }()
	for _, op := range ops {
		if err := p.apply(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	f.put("b.txt", "theirs\n")
	_, err = p.carryOut(t.Context())
	if err == nil || !strings.Contains(err.Error(), `applied in part: done are "a.txt", nothing else was changed`) {
		t.Errorf("got %v", err)
	}
	f.want("a.txt", "A\n")
	f.want("b.txt", "theirs\n")

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	p.close()
	p.files, p.order = map[string]*planned{}, nil
	ops[0].hunks[0].lines = []hunkLine{{'-', "A"}}
	if err := p.apply(t.Context(), ops[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := p.carryOut(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	f.want("a.txt", "A\n")
}

func TestPatchTitle(t *testing.T) {
	f := newFixture(t)
	got := f.set.Title(
		"apply_patch",
		[]byte(`{"input":"*** Begin Patch\n*** Add File: a\n*** Update File: b/c \n+*** Delete File: no\n"}`),
	)
	if got != "patch a, b/c" {
		t.Errorf("got %q", got)
	}
}

// A patch between any two texts, with their lines as context, converts one into the other.
func TestPatchProperty(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", " c", "\td", "*** End Patch", "@@"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a := splitLines(strings.Join(append(text.Draw(t, "before"), ""), "\n"))
		b := splitLines(strings.Join(append(text.Draw(t, "after"), ""), "\n"))
		patched := []string{"*** Begin Patch", "*** Update File: x"}
		at := 0
		emit := func(mark string, lines []line) {
			for _, l := range lines {
				patched = append(patched, mark+l.text)
			}
		}
		for _, c := range diffLines(a, b) {
			emit(" ", a[at:c.fromA])
			emit("-", a[c.fromA:c.toA])
			emit("+", b[c.fromB:c.toB])
			at = c.toA
		}
		emit(" ", a[at:])
		if len(patched) == 2 {
			return // Two empty files.
		}
		ops, err := parsePatch(strings.Join(append(patched, "*** End Patch"), "\n"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := applyHunks(context.Background(), "x", []byte(joinLines(a)), ops[0].hunks)
		if err != nil || string(got) != joinLines(b) {
			t.Fatalf("got %q, want %q: %v", got, joinLines(b), err)
		}
	})
}

func TestDiffProperty(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]line{{"a", "\n"}, {"b", "\n"}, {"b", "\r\n"}, {"c", "\n"}}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var got []line
		at, shortest := 0, 0
		for _, c := range diffLines(a, b) {
			got = append(append(got, a[at:c.fromA]...), b[c.fromB:c.toB]...)
			at = c.toA
			shortest += c.toA - c.fromA + c.toB - c.fromB
		}
		got = append(got, a[at:]...)
		if joinLines(got) != joinLines(b) {
			t.Fatalf("got %q, want %q", got, b)
		}
		if want := len(a) + len(b) - 2*commonSubsequence(a, b); shortest != want {
			t.Fatalf("%d edits, want %d", shortest, want)
		}
	})
}

func commonSubsequence(a, b []line) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}

func FuzzApplyPatch(f *testing.F) {
	f.Add("a\nb\n", patch("*** Update File: x", "@@ a", "-b", "+B", "*** End of File"))
	f.Add("a\r\nb", patch("*** Update File: x", "*** Move to: y", " a", "+c", "", "@@", "-b"))
	f.Add("", patch("*** Add File: z", "+a", "*** Delete File: q", "*** Update File: x", "+a"))
	f.Fuzz(func(t *testing.T, file, text string) {
		ops, err := parsePatch(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") || len(err.Error()) > 500 {
				t.Fatalf("error without a line: %q", err)
			}
			return
		}
		for _, op := range ops {
			got, err := applyHunks(context.Background(), "x", []byte(file), op.hunks)
			if err != nil {
				continue
			}
			checkKept(t, file, string(got), op.hunks)
		}
	})
}

// checkKept counts lines: every line that a patch neither adds nor removes is kept.
func checkKept(t *testing.T, before, after string, hunks []hunk) {
	t.Helper()
	count := map[string]int{}
	for _, l := range splitLines(strings.TrimPrefix(before, utf8BOM)) {
		count[plain(trimEnd(l.text))]++
	}
	for _, h := range hunks {
		for _, l := range h.lines {
			switch l.mark {
			case '+':
				count[plain(trimEnd(l.text))]++
			case '-':
				count[plain(trimEnd(l.text))]--
			}
		}
	}
	for _, l := range splitLines(strings.TrimPrefix(after, utf8BOM)) {
		count[plain(trimEnd(l.text))]--
	}
	for text, n := range count {
		if n != 0 && text != "" { // A blank line at the end can be one that editors show.
			t.Fatalf("%q: %d too many or few: %q -> %q", text, n, before, after)
		}
	}
}

// A model that writes typographic quotes also writes them in added lines.
func TestPatchRefusesTypographicAdditions(t *testing.T) {
	f := newFixture(t)
	f.put("a", "x := \"one\"\ny := 2\n")
	_, err := f.run(
		"apply_patch",
		args{"input": "*** Begin Patch\n*** Update File: a\n@@\n-x := “one”\n+x := “two”\n y := 2\n*** End Patch\n"},
	)
	if err == nil || !strings.Contains(err.Error(), "     1\tx := \"one\"") {
		t.Errorf("got %v", err)
	}
	f.want("a", "x := \"one\"\ny := 2\n")
	f.ok(
		"apply_patch",
		args{"input": "*** Begin Patch\n*** Update File: a\n@@\n-x := “one”\n+x := \"two\"\n y := 2\n*** End Patch\n"},
	)
	f.want("a", "x := \"two\"\ny := 2\n")
}
