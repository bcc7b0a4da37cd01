package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

func searchTree(t testing.TB) string {
	dir := t.TempDir()
	many := ""
	for i := range 300 {
		many += fmt.Sprintf("needle %d\n", i)
	}
	put(t, dir, map[string]string{
		".git/config":        "needle\n",
		".git/info/exclude":  "excluded.txt\n",
		".gitignore":         "*.log\nvendor/\n/top.txt\n",
		".hidden/x.txt":      "needle in hidden\n",
		"a/one.go":           "package a\n\nfunc One() {\n\tneedle()\n\tother()\n\tneedle()\n}\n",
		"a/two.go":           "1\n2\n3\n4 needle\n5\n6\n7\n8\n9 needle\n10",
		"a/two.ts":           "Needle\nNEEDLE\n",
		"a/.gitignore":       "!keep.log\n",
		"a/keep.log":         "needle kept\n",
		"a/drop.log":         "needle dropped\n",
		"vendor/v.go":        "needle in vendor\n",
		"top.txt":            "needle\n",
		"a/top.txt":          "needle in a/top.txt\n",
		"excluded.txt":       "needle\n",
		".ignore":            "two.go\n",
		"crlf.txt":           "a needle\r\nb\r\n",
		"latin1.txt":         "caf\xe9 needle\n",
		"binary.bin":         "needle\x00\n",
		"long.txt":           strings.Repeat("x", 5000) + "needle" + strings.Repeat("é", 5000) + "\n",
		"many.txt":           many,
		"empty.txt":          "",
		"sp ace/na:me-1.txt": "needle: 5-6\n",
	})
	return dir
}

func TestGrep(t *testing.T) {
	dir := searchTree(t)
	var b strings.Builder
	for _, in := range []args{
		{"pattern": "needle", "glob": "*.{go,ts,log}"},
		{"pattern": "needle", "limit": 20},
		{"pattern": "needle", "ignore_case": true, "glob": "*.ts"},
		{"pattern": "needle", "context": 1, "glob": "a/*.go"},
		{"pattern": "needle", "context": 3, "glob": "*.go"},
		{"pattern": "needle", "context": 2, "limit": 1, "path": "a"},
		{"pattern": "needle", "context": 1, "limit": 3, "glob": "*.go"},
		{"pattern": "needle$"},
		{"pattern": "^needle [0-9]$", "limit": 1000},
		{"pattern": `\Aneedle \d\z`, "limit": 5},
		{"pattern": "need(le", "limit": 5},
		{"pattern": "x+needleé"},
		{"pattern": "needle in", "path": "vendor"},
		{"pattern": "needle", "path": "a/two.go"},
		{"pattern": "needle", "path": "binary.bin"},
		{"pattern": "needle", "path": "none"},
		{"pattern": "a\nb"},
		{"pattern": `a\nb`},
		{"pattern": "needle", "glob": "[a"},
		{"pattern": "no such text"},
		{"pattern": "needle", "path": "~/x"},
		{"pattern": "needle", "limit": 1001},
	} {
		result, err := run(t, Config{}, dir, "grep", in)
		fmt.Fprintf(&b, "== %v\n%s\n", in, resultText(result, err, dir))
	}
	golden(t, "grep.golden", b.String())
}

// A cancelled search returns its results, and ends at once: the test would otherwise take
// practically forever.
func TestGrepEndsWithItsContext(t *testing.T) {
	dir := searchTree(t)
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	grep := Tools(Config{Private: func(path string) bool { // asked before each file
		if strings.HasSuffix(path, "two.go") {
			cancel(cause)
		}
		return false
	}})[1]
	result, err := grep.Run(ctx, tool.Call{Args: []byte(`{"pattern":"needle"}`), Dir: dir})
	if err != nil || !result.Aborted || !strings.Contains(result.Output, "4:\tneedle()") {
		t.Errorf("got %+v, %v", result, err)
	}
	for _, tl := range Tools(Config{}) {
		result, err := tl.Run(ctx, tool.Call{Args: []byte(`{"pattern":"needle"}`), Dir: dir})
		if !result.Aborted && !errors.Is(err, cause) {
			t.Errorf("%s: got %+v, %v", tl.Spec().Name, result, err)
		}
	}
}

// countdown is a context that is cancelled at its nth check.
type countdown struct {
	context.Context
	left, looks int
}

func (c *countdown) Err() error {
	c.looks++
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// In a tree of any size, the walk and the scan check their context between any two entries
// and any two blocks, and stop when it is cancelled.
func TestWalkLooksAtItsContext(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f%d.txt", i%20, i)] = "x\n"
	}
	put(t, dir, files)
	at, err := disk.Locate(dir, ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := &countdown{Context: t.Context(), left: 1 << 30}
	visited := 0
	visit := func(entry) error { visited++; return nil }
	if err := walk(whole, at, visit); err != nil || visited != 220 || whole.looks < visited {
		t.Fatalf("%v: visited %d, looked %d times", err, visited, whole.looks)
	}
	visited = 0
	part := &countdown{Context: t.Context(), left: 50}
	_ = walk(part, at, visit)
	if visited > 50 {
		t.Errorf("visited %d after 50 looks", visited)
	}
	q, _, err := Config{}.newQuery(tool.Call{Dir: dir}, GrepArguments{Pattern: "nope"})
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"big": strings.Repeat("0123456789abcde\n", 1<<20/16)})
	d, err := at.Tree()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := newScanner(q)
	blocks := &countdown{Context: t.Context(), left: 1 << 30}
	if err := s.file(blocks, d, "big", filepath.Join(dir, "big")); err != nil || blocks.looks < 1<<20/blockBytes {
		t.Errorf("%v: looked %d times at 1 MiB", err, blocks.looks)
	}
}

func TestGlob(t *testing.T) {
	dir := searchTree(t)
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, start, start)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "a/two.go"), start, start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, in := range []args{
		{"pattern": "*.go"},
		{"pattern": "**/*.go"},
		{"pattern": "./*.txt"},
		{"pattern": "a/*"},
		{"pattern": "**/*.{ts,log}"},
		{"pattern": "a/**"},
		{"pattern": "*", "path": "a", "limit": 2},
		{"pattern": "vendor/*.go"},
		{"pattern": "a/two.go"},
		{"pattern": filepath.Join(dir, "a") + "/*.ts"},
		{"pattern": "../*/one.go", "path": "a"},
		{"pattern": "none/*.go"},
		{"pattern": "*.none"},
		{"pattern": "[a"},
		{"pattern": "*", "path": "a/one.go"},
		{"pattern": "*", "path": "none"},
	} {
		result, err := run(t, Config{}, dir, "glob", in)
		fmt.Fprintf(&b, "== %s\n%s\n", strings.ReplaceAll(fmt.Sprint(in), dir, "/work"), resultText(result, err, dir))
	}
	golden(t, "glob.golden", b.String())
}

func TestNewestFilesIsBounded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"f": ""})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	at, err := disk.Locate(dir, ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := at.Tree()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n := &newestFiles{limit: 10}
	for i := range 100_000 {
		n.add(entry{DirEntry: entries[0], in: in, path: fmt.Sprintf("%06d", i)})
	}
	if cap(n.files) > 10_000 {
		t.Errorf("holds %d", cap(n.files))
	}
	if out := n.render("/"); !strings.HasPrefix(out, "000000\n000001\n") ||
		!strings.Contains(out, "the 10 newest of 100000 files") {
		t.Error(out)
	}
}

func TestList(t *testing.T) {
	dir := searchTree(t)
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"deep/er/and/deeper/f": "", "deep/line\nbreak": ""})
	if err := os.MkdirAll(filepath.Join(dir, "nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, in := range []args{
		{},
		{"depth": 1},
		{"path": "deep", "depth": 10},
		{"path": "a", "limit": 3},
		{"limit": 12},
		{"path": "nothing"},
		{"path": "a/one.go"},
		{"path": "none"},
		{"depth": 11},
	} {
		result, err := run(t, Config{}, dir, "list", in)
		fmt.Fprintf(&b, "== %v\n%s\n", in, resultText(result, err, dir))
	}
	golden(t, "list.golden", b.String())
}

func TestTitles(t *testing.T) {
	set, err := tool.NewSet(Tools(Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, args, want string }{
		{"glob", `{"pattern":"*.go"}`, "glob *.go"},
		{"glob", `{"pattern":"*.go","path":"a"}`, "glob *.go in a"},
		{"grep", `{"pattern":"a b","path":"x","glob":"*.go"}`, `grep "a b" in x (*.go)`},
		{"list", `{}`, "list ."},
		{"list", `{"path":"a"}`, "list a"},
	} {
		if got := set.Title(tt.tool, json.RawMessage(tt.args)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	for _, spec := range set.Specs() {
		if !spec.ReadOnly {
			t.Errorf("%s is not read-only", spec.Name)
		}
	}
}

func FuzzGrepPattern(f *testing.F) {
	f.Add("a$", "a\r\nb", true)
	f.Add(`[^x]*y`, "ab\ncy\n", false)
	f.Add(`\bfoo\B|^$`, "foox\n\n", false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		if len(pattern) > 50 || strings.Contains(text, "\x00") {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		q, _, err := Config{}.newQuery(tool.Call{Dir: dir},
			GrepArguments{Pattern: pattern, IgnoreCase: fold, Limit: 1000})
		if err != nil {
			return
		}
		if err := q.scan(t.Context()); err != nil && !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		want := 0
		for l := range strings.Lines(text) {
			if q.re.Match(trimEnding([]byte(l))) {
				want++
			}
		}
		if got := q.c.matches; got != want && !q.c.more {
			t.Fatalf("%d matches of %q, want %d", got, pattern, want)
		}
	})
}

func benchmarkTree(b *testing.B) (dir string, size int64) {
	dir = b.TempDir()
	line := "func something(ctx context.Context, name string) error { return nil }\n"
	for i := range 2000 {
		text := strings.Repeat(line, 100)
		if i%500 == 0 {
			text += "the needle is here\n"
		}
		put(b, dir, map[string]string{fmt.Sprintf("d%02d/e%d/f%d.go", i%50, i%5, i): text})
		size += int64(len(text))
	}
	return dir, size
}

func BenchmarkGrepOwn(b *testing.B) {
	dir, size := benchmarkTree(b)
	for _, pattern := range []string{"needle", `ne{2}dle\s+is`, "(?i)NEEDLE"} {
		b.Run(pattern, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if result, err := run(b, Config{}, dir, "grep", args{"pattern": pattern}); err != nil ||
					!strings.Contains(result.Output, "4 matches") {
					b.Fatal(result.Output, err)
				}
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	dir, _ := benchmarkTree(b)
	put(b, dir, map[string]string{".gitignore": strings.Repeat("*.log\nbuild/\n/dist\n**/x/*.y\n", 10)})
	at, err := disk.Locate(dir, ".", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := walk(b.Context(), at, func(entry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// A search does not show lines of files with secrets: the model must name the file, which
// can need an approval.
func TestGrepKeepsPrivateLines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "token := os.Getenv(1)\n", ".env": "token=hunter2hunter2\n",
		"sub/key.pem": "token x\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	private := func(path string) bool { return strings.HasSuffix(path, ".env") || strings.HasSuffix(path, ".pem") }
	const remark = "\n(%s)\n(not searched, because secrets are kept there: 2 files: .env, sub/key.pem; search or read one by its name if you have to)\n"
	got, err := run(t, Config{Private: private}, dir, "grep", args{"pattern": "no-file-has-this"})
	if want := fmt.Sprintf(remark, "0 matches in 0 files"); err != nil || got.Output != want {
		t.Errorf("files with secrets are named by what they contain: %v\n%s\nwant\n%s", err, got.Output, want)
	}
	for _, tt := range []struct {
		in   args
		want string
	}{
		{
			args{"pattern": "token", "context": 2},
			"a.go\n1:token := os.Getenv(1)\n" + fmt.Sprintf(remark, "1 match in 1 file"),
		},
		{args{"pattern": "token[ =][hx]"}, fmt.Sprintf(remark, "0 matches in 0 files")},
		{args{"pattern": "token", "path": ".env"}, ".env\n1:token=hunter2hunter2\n\n(1 match in 1 file)\n"},
	} {
		got, err := run(t, Config{Private: private}, dir, "grep", tt.in)
		if err != nil || got.Output != tt.want {
			t.Errorf("%v: %v\n%s\nwant\n%s", tt.in, err, got.Output, tt.want)
		}
	}
}

// A search that takes too long ends, and reports that there can be more.
func TestSearchesAreBounded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.txt": "x\n"})
	for name, in := range map[string]args{"grep": {"pattern": "x"}, "glob": {"pattern": "**/*.txt"}} {
		got, err := run(t, Config{Timeout: 1}, dir, name, in)
		if err != nil || !strings.Contains(got.Output,
			"(stopped after 1ns, and not everything was searched: name a smaller directory in path)") {
			t.Errorf("%s: %q, %v", name, got.Output, err)
		}
		if got, err := run(t, Config{}, dir, name, in); err != nil || strings.Contains(got.Output, "stopped") ||
			!strings.Contains(got.Output, "a.txt") {
			t.Errorf("%s, not bounded: %q, %v", name, got.Output, err)
		}
	}
}
