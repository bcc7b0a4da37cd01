package file_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

const scoreDoc = "../../docs/edits.md"

// trial is one call of a tool, with its acceptable results.
type trial struct {
	tool, kind string
	before     string
	read       bool   // the model has read the file
	since      string // the file's current content; empty for before
	after      string // the expected content; empty if the tool must write nothing
	lines      [2]int // lines of the change, from 1: a hint must show one of them
	args       map[string]any
}

// result is the result of a trial.
type result string

// The results.
const (
	right  result = "applied correctly"
	hinted result = "refused, with a hint that leads to the right edit"
	bare   result = "refused without one"
	wrong  result = "applied wrongly"
)

// bench has one file, which an editor has open, so that no write is synced.
type bench struct {
	t    *testing.T
	dir  string
	set  *tool.Set
	text string
}

// open begins a session.
func (b *bench) open() {
	w := file.NewWorkspace(file.Config{Editor: &file.Editor{
		Read:  func(context.Context, string) (string, error) { return b.text, nil },
		Write: func(_ context.Context, _, text string) error { b.text = text; return nil },
	}})
	var err error
	if b.set, err = tool.NewSet(w.Tools()...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(x trial) (result, string) {
	b.text = x.before
	if b.set == nil || x.tool == "write" { // which requires an earlier read in the session
		b.open()
	}
	call := func(name string, args map[string]any) error {
		raw, err := json.Marshal(args)
		if err != nil {
			b.t.Fatal(err)
		}
		_, err = b.set.Run(b.t.Context(), tool.Call{Name: name, Args: raw, Dir: b.dir})
		return err
	}
	if x.read {
		if err := call("read", map[string]any{"path": "f"}); err != nil {
			b.t.Fatal(err)
		}
	}
	if x.since != "" {
		b.text = x.since
	}
	was := b.text
	err := call(x.tool, x.args)
	switch {
	case err != nil && b.text != was:
		return wrong, "it is refused, and was written: " + err.Error()
	case err != nil && leads(err.Error(), x):
		return hinted, ""
	case err != nil:
		return bare, err.Error()
	case b.text == x.after && x.after != "":
		return right, ""
	}
	return wrong, b.text
}

var (
	shownLine  = regexp.MustCompile(`(?m)^ *(\d+)\t`)
	listedLine = regexp.MustCompile(`on lines ([\d, ]+)`)
)

// leads reports whether the error shows a line of the change, or the step to take first.
func leads(text string, x trial) bool {
	if x.tool == "write" {
		return strings.Contains(text, "Read it")
	}
	var numbers []string
	for _, m := range shownLine.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, m[1])
	}
	for _, m := range listedLine.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, strings.Split(m[1], ", ")...)
	}
	return slices.ContainsFunc(numbers, func(s string) bool {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		return err == nil && x.lines[0] <= n && n <= x.lines[1]
	})
}

var updateScore = flag.Bool("score", false, "write docs/edits.md anew")

// TestEdits scores the tools by the corpus. No edit may be applied wrongly.
func TestEdits(t *testing.T) {
	b := &bench{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(b.dir, "f"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scores := map[[2]string]map[result]int{}
	failures, n := 0, 0
	for _, p := range corpus(t) {
		for _, e := range p.Edits {
			for _, x := range trials(p, e, n) {
				got, why := b.run(x)
				key := [2]string{x.tool, x.kind}
				if scores[key] == nil {
					scores[key] = map[result]int{}
				}
				scores[key][got]++
				if got == wrong {
					if failures++; failures < 10 {
						t.Errorf("%s, %s, of %s: applied wrongly\nargs: %q\nbefore: %q\nwant:  %q\ngot: %q", x.tool,
							x.kind, p.Path, x.args, x.before, x.after, why)
					}
				}
			}
			n++
		}
	}
	table := render(scores)
	doc, err := os.ReadFile(scoreDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(doc), "<!-- scores -->\n")
	_, tail, _ := strings.Cut(rest, "<!-- end -->\n")
	made := head + "<!-- scores -->\n" + table + "<!-- end -->\n" + tail
	if *updateScore {
		if err := os.WriteFile(scoreDoc, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made != string(doc) {
		t.Errorf("docs/edits.md is not what was scored; write it anew with -score:\n%s", table)
	}
}

func render(scores map[[2]string]map[result]int) string {
	var b strings.Builder
	b.WriteString(
		"| Tool | Edits | Calls | Applied correctly | Refused with a hint | Refused without | Applied wrongly |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
	)
	total := map[result]int{}
	row := func(tool, kind string, s map[result]int) {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d |\n", tool, kind, s[right]+s[hinted]+s[bare]+s[wrong],
			s[right], s[hinted], s[bare], s[wrong])
	}
	for _, key := range slices.SortedFunc(maps.Keys(scores),
		func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		row("`"+key[0]+"`", key[1], scores[key])
		for r, n := range scores[key] {
			total[r] += n
		}
	}
	row("all", "", total)
	return b.String()
}
