package review_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/review"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// A text that Parse accepts follows the schema, and a text that follows the schema has a summary.
func TestParse(t *testing.T) {
	check, err := oneturn.Conform(review.Schema(), "settle review")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		`{"summary":"Fine.","findings":[]}`: "no findings: Fine.\n",
		`{"summary":"","findings":[]}`:      "error",
		`{"summary":"x"}`:                   "invalid",
		`x`:                                 "invalid",
		`{"summary":"x","findings":[{"file":"a","line":1,"severity":"grave","text":"x"}]}`:                "invalid",
		`{"summary":"x\u001b[1m","findings":[{"file":"a\nb","line":-4,"severity":"low","text":"y | z"}]}`: "a\\nb",
	} {
		conforms := check(answer) == nil
		if conforms == (want == "invalid") {
			t.Errorf("%s conforms: %t", answer, conforms)
		}
		r, err := review.Parse(answer)
		if want == "error" && err == nil {
			t.Errorf("%s: no error", answer)
		}
		if want == "error" || want == "invalid" || err != nil {
			continue
		}
		var b strings.Builder
		if err := r.Table(&b); err != nil || !strings.Contains(b.String(), strings.ReplaceAll(want, `\n`, " ")) &&
			!strings.Contains(b.String(), want) || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: %q, %v", answer, b.String(), err)
		}
	}
}

func TestComments(t *testing.T) {
	var r review.Report
	for range 60 {
		r.Findings = append(r.Findings, review.Finding{File: "a|b.go", Line: 2, Severity: "low", Text: "x | y"})
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := r.Comments(dir); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(names) != 51 {
		t.Errorf("%d comments, %v", len(names), err)
	}
	summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
	if err != nil || strings.Count(string(summary), `| a\|b.go | 2 | low | x \| y |`) != 60 {
		t.Errorf("%s, %v", summary, err)
	}
	if err := review.FailureComment(dir, "failed", "no\nkey"); err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "[^.]*")); len(names) != 1 {
		t.Errorf("the earlier comments remain: %q", names)
	}
	if err := review.FailureComment(filepath.Join(dir, "summary.md"), "failed", "x"); err == nil {
		t.Error("a file is a folder")
	}
}

// No comment can be at a file that the change does not have: the summary has such findings.
func TestFindingsOutsideOfChange(t *testing.T) {
	r := review.Report{Findings: []review.Finding{
		{File: "nope.txt", Line: 99},
		{File: "a.go", Line: 1},
		{File: "sub/deep/b.go"},
		{File: "/etc/a.go"},
		{File: "ü \"x\".go"},
		{File: "a"},
		{File: ""},
	}}
	r.MarkOutside(review.Place{Dirs: []string{"/repo"}}, review.Has([]string{"M\ta.go", "M\tsub", "A\t\"ü \\\"x\\\".go\"", "D\tgone.go"}))
	var outside []string
	for _, f := range r.Findings {
		if f.Outside {
			outside = append(outside, f.File)
		}
	}
	if got := strings.Join(outside, ","); got != "nope.txt,/etc/a.go,a," {
		t.Errorf("outside: %q", got)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := r.Comments(dir); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.path"))
	if err != nil || len(paths) != 3 {
		t.Errorf("%q, %v", paths, err)
	}
	if first, err := os.ReadFile(filepath.Join(dir, "001.path")); string(first) != "a.go" {
		t.Errorf("%s, %v", first, err)
	}
	if summary, err := os.ReadFile(filepath.Join(dir, "summary.md")); !strings.Contains(string(summary), "| nope.txt (outside) | 99 |") {
		t.Errorf("%s, %v", summary, err)
	}
}

// Models name files also by absolute paths, relative to the directory, and not in the shortest form.
func TestFindingsNameFilesFromTheTop(t *testing.T) {
	answer := `{"summary":"s","findings":[`
	for n, file := range []string{"/repo/sub/a.go", "sub//a.go", "./sub/../sub/a.go", "a.go", "/repo/b.go", "../b.go", "/link/a.go"} {
		answer += strings.Repeat(",", min(n, 1)) + `{"file":"` + file + `","line":1,"severity":"low","text":"t"}`
	}
	r, err := review.Parse(answer + "]}")
	if err != nil {
		t.Fatal(err)
	}
	r.MarkOutside(review.Place{Dirs: []string{"/link", "/repo/sub"}, Prefix: "sub/"}, review.Has([]string{"M\tsub/a.go", "M\tb.go"}))
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.File)
		if f.Outside {
			t.Errorf("%q is outside of the change", f.File)
		}
	}
	want := "sub/a.go sub/a.go sub/a.go sub/a.go b.go b.go sub/a.go"
	if strings.Join(got, " ") != want {
		t.Errorf("the files are %q, want %q", got, want)
	}
}

// No line of the model begins a line of a comment: GitLab would run it as a command.
func TestCommentsQuoteModelText(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r := review.Report{Summary: "/close", Findings: []review.Finding{
		{File: "/title pwned", Severity: "low", Text: "/merge\n/title x\r/close\r\n```\n\n/label y\u2028/approve"},
		{File: "a", Severity: "low", Text: long},
	}}
	for range 200 {
		r.Findings = append(r.Findings, review.Finding{File: "b", Severity: "low", Text: long})
	}
	dir := t.TempDir()
	if err := r.Comments(dir); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(names) != 51 {
		t.Errorf("%d comments, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 60_000 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		for line := range strings.Lines(strings.NewReplacer("\r", "\n", "\u2028", "\n").Replace(string(text))) {
			if strings.HasPrefix(strings.TrimSpace(line), "/") {
				t.Errorf("%s has the line %q", name, line)
			}
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "summary.md")); !strings.Contains(string(text), "more\n") {
		t.Errorf("the table does not say that it is cut: %.200q", text)
	}
}

// The prompt has a bounded list of the changed files, and explains a review without the diff.
func TestRequestListsFiles(t *testing.T) {
	files := []string{"M\ta.go", "A\tb.go"}
	text := review.Request("the parser", files)
	for _, want := range []string{"Review the parser.", "\nM\ta.go\nA\tb.go\n", "could not read the diff"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	for range 100_000 {
		files = append(files, "M\t"+strings.Repeat("x", 100))
	}
	if text := review.Request("", files); len(text) > 12<<10 || !strings.Contains(text, "more\n") {
		t.Errorf("the list has %d bytes: %.200q", len(text), text)
	}
}

func TestCheckBase(t *testing.T) {
	for base, ok := range map[string]bool{
		"main": true, "origin/x-1": true, "HEAD~2": true, "v1.0^{}": true, "feature/#42": true,
		"#x": false, "-x": false, "a b": false, "$(x)": false, "a;b": false, "a\nb": false,
	} {
		if err := review.CheckBase(base); (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
	}
	if !json.Valid(review.Schema()) {
		t.Error("the schema is no JSON")
	}
}

// A range has two commits; a path with dots, a place in a file and words are no range.
func TestRangeOf(t *testing.T) {
	for words, want := range map[string]review.Range{
		"main..HEAD":     {From: "main", To: "HEAD"},
		"HEAD~3..":       {From: "HEAD~3", To: "HEAD"},
		"origin/m...a/b": {From: "origin/m", To: "a/b", FromAncestor: true},
		"v1.2..v1.3":     {From: "v1.2", To: "v1.3"},
		"../x":           {}, "a/../b": {}, "..": {}, "": {}, "./internal/...": {}, "internal/...": {}, "all...": {},
		"a.go:1..9": {}, "main..HEAD of x": {}, "https://h/a..b": {}, "a....b": {}, "a..b..c": {}, "main": {},
	} {
		if got, ok := review.RangeOf(words); got != want || ok != (want != review.Range{}) {
			t.Errorf("%q: %+v, %t", words, got, ok)
		}
	}
}

// A review without a change says so in each form: it is no review without findings.
func TestNothingIsNotNoFindings(t *testing.T) {
	r := review.Nothing(`nothing to review since "main"`)
	dir := t.TempDir()
	var table strings.Builder
	if err := errors.Join(r.Table(&table), r.Comments(dir)); err != nil {
		t.Fatal(err)
	}
	comment, err := os.ReadFile(filepath.Join(dir, "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got := table.String() + string(comment) + string(raw)
	want := "nothing to review since \"main\"\nsettle review: nothing to review since \"main\"\n" +
		`{"summary":"nothing to review since \"main\"","findings":[],"nothing_to_review":true}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A report in the only JSON block of an answer is read. With several blocks or none, the answer is no report.
func TestParseOfJSONBlock(t *testing.T) {
	const report = `{"summary":"fine","findings":[]}`
	for answer, want := range map[string]bool{
		"I looked at it.\n\n```json\n" + report + "\n```\nThat is all.": true,
		"```JSON\n" + report + "\n```":                                  true,
		report:                                                          true,
		"```json\n" + report + "\n```\n```json\n{}\n```":                false,
		"```json\n" + report:                                            false,
		"It is fine.":                                                   false,
	} {
		r, err := review.Parse(answer)
		if (err == nil) != want || want && r.Summary != "fine" {
			t.Errorf("%q: %+v, %v", answer, r, err)
		}
	}
}
