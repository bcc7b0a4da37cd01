package file

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/disk"
)

const goSource = `package main

import "fmt"

func main() {
	fmt.Println("hello")
	if true {
		fmt.Println("again")
	}
}

func other() {
	if true {
		fmt.Println("again")
	}
}
`

func TestEditErrors(t *testing.T) {
	f := newFixture(t)
	f.put("main.go", goSource)
	f.put("spaces.py", "def f():\n    return 1   \n\ndef g():\n    return 2\n")
	f.put("latin1.txt", "caf\xe9 au lait\n")
	f.put("crlf.txt", "one\r\ntwo\r\n")
	f.put("many.txt", strings.Repeat("x\n", 50))
	f.put("aaa.txt", "aaa")
	f.put("dir/x", "")
	f.put("lots.txt", strings.Repeat("y", maxMatches+1))
	var b strings.Builder
	for _, in := range []args{
		{"path": "main.go", "old_string": `fmt.Println("again")`, "new_string": "x"},
		{"path": "main.go", "old_string": "    fmt.Println(\"hello\")\n", "new_string": "x"},
		{"path": "main.go", "old_string": "\tfmt.Println(\"hello\") \n\tif true {", "new_string": "x"},
		{"path": "main.go", "old_string": "     6\t\tfmt.Println(\"hello\")", "new_string": "x"},
		{"path": "main.go", "old_string": "fmt.Printn(\"hello\")", "new_string": "x"},
		{"path": "main.go", "old_string": "func main() {\n\tfmt.Println(\"bye\")\n\tif true {\n", "new_string": "x"},
		{"path": "main.go", "old_string": "SELECT * FROM t", "new_string": "x"},
		{"path": "main.go", "old_string": "\n\n\n\n", "new_string": "x"},
		{"path": "main.go", "old_string": "hello", "new_string": "hello"},
		{"path": "main.go", "old_string": "", "new_string": "x"},
		{"path": "main.go", "old_string": "hello", "new_string": mask},
		{"path": "spaces.py", "old_string": "def f():\n    return 1\n", "new_string": "x"},
		{"path": "spaces.py", "old_string": "\treturn 2", "new_string": "x"},
		{"path": "latin1.txt", "old_string": "caf\uFFFD", "new_string": "x"},
		{"path": "crlf.txt", "old_string": "one\n", "new_string": "one\r\n"},
		{"path": "crlf.txt", "old_string": "one\ntwo\n\n", "new_string": ""},
		{"path": "many.txt", "old_string": "x", "new_string": "y"},
		{"path": "aaa.txt", "old_string": "aa", "new_string": "b"},
		{"path": "lots.txt", "old_string": "y", "new_string": "z", "replace_all": true},
		{"path": "none.go", "old_string": "x", "new_string": "y"},
		{"path": "mian.go", "old_string": "x", "new_string": "y"},
		{"path": "dir", "old_string": "x", "new_string": "y"},
	} {
		fmt.Fprintf(&b, "== %s %.60q\n%s\n", in["path"], in["old_string"], f.fails("edit", in))
	}
	golden(t, "edit_errors.golden", b.String())
	f.want("main.go", goSource)
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct{ name, before, old, new, after, output string }{
		{"one line", "a\nb\nc\n", "b", "B", "a\nB\nc\n", "edited x in 1 place (+1 -1)"},
		{"no newline at the end", "a\nb", "b", "B", "a\nB", ""},
		{"all", "aXbXc", "X", "--", "a--b--c", "edited x in 2 places (+1 -1)"},
		{"all, overlapping", "aaaa", "aa", "b", "bb", ""},
		{"remove", "a\nb\nc\n", "b\n", "", "a\nc\n", ""},
		{"whole file", "a\n", "a\n", "", "", ""},
		{"CRLF, one line", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", ""},
		{"CRLF, lines", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n", ""},
		{"CRLF given", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", ""},
		{"CRLF given for LF", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n", ""},
		{"leading newline", "a\r\nb\r\n", "\nb", "\nB", "a\r\nB\r\n", ""},
		{"mixed keeps each", "a\nb\r\nc\nd\r\n", "c\nd", "C\nD", "a\nb\r\nC\nD\r\n", ""},
		{"mixed, CRLF part", "a\nb\r\nc\nd\n", "b\nc", "B\nX\nC", "a\nB\r\nX\r\nC\nd\n", ""},
		{"latin-1 around", "\xe9 a \xff\n", "a", "é", "\xe9 é \xff\n", ""},
		{"NUL around", "\x00a\x00", "a", "b", "\x00b\x00", ""},
		{"lone CR stays", "a\rb\n", "b", "c", "a\rc\n", ""},
		{"BOM stays", utf8BOM + "a\n", "a", "b", utf8BOM + "b\n", ""},
		{"no line ending to keep", "a", "a", "b\r\nc", "b\r\nc", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.put("x", tt.before)
			in := args{"path": "x", "old_string": tt.old, "new_string": tt.new}
			if strings.HasPrefix(tt.name, "all") {
				in["replace_all"] = true
			}
			result := f.ok("edit", in)
			f.want("x", tt.after)
			if tt.output != "" && result.Output != tt.output {
				t.Errorf("got %q", result.Output)
			}
			if c := f.changes(result); len(c) != 1 || c[0].Kind != "update" || c[0].Path != "x" {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// An edit of a file in an unknown encoding changes only the bytes of the match.
func TestEditProperty(t *testing.T) {
	piece := rapid.SliceOfN(rapid.SampledFrom([]byte("ab \xe9\xff\x00\t")), 0, 12)
	ending := rapid.SampledFrom([]string{"\n", "\r\n"})
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "case")
		if err != nil {
			t.Fatal(err)
		}
		f := fixtureIn(t, dir)
		end := ending.Draw(t, "ending")
		var head, tail string
		for range rapid.IntRange(0, 4).Draw(t, "lines before") {
			head += string(piece.Draw(t, "line")) + end
		}
		for range rapid.IntRange(0, 4).Draw(t, "lines after") {
			tail += end + string(piece.Draw(t, "line"))
		}
		f.put("x", head+"<one>"+end+"<two>"+tail)
		text := rapid.StringMatching(`[a-z<>é\n]{0,10}`).Draw(t, "new")
		f.ok("edit", args{"path": "x", "old_string": "<one>\n<two>", "new_string": text})
		f.want("x", head+strings.ReplaceAll(text, "\n", end)+tail)
		f.wantNoTemps()
	})
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte("a\r\nb\n"), "a\nb", "c\nd", false)
	f.Add([]byte("\xff\x00aa"), "a", "b", true)
	f.Add([]byte("\r\n\r\n\n"), "\n\n", "", true)
	f.Fuzz(func(t *testing.T, data []byte, old, text string, all bool) {
		if old == "" {
			return
		}
		s := &snapshot{place: place{Place: disk.At("/", "/x", "/x")}, data: data}
		out, n, err := substitute(context.Background(), s, EditArguments{Old: old, New: text, All: all})
		if err != nil {
			return
		}
		if !all && n != 1 {
			t.Fatalf("%d places", n)
		}
		// If all line endings are equal, an edit is a plain replacement.
		plain := func(b []byte) string { return string(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))) }
		old = strings.ReplaceAll(old, "\r\n", "\n")
		if strings.Contains(plain(data)+old+text, "\r") {
			return // A lone CR can join a line feed to a CRLF.
		}
		limit := 1
		if all {
			limit = -1
		}
		text = strings.ReplaceAll(text, "\r\n", "\n")
		if want := strings.Replace(plain(data), old, text, limit); plain(out) != want {
			t.Fatalf("got %q, want %q", out, want)
		}
	})
}
