//go:build machine

package page_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

// The page colors code as the terminal does, whatever the code is.
func TestHighlightAgreesWithTheTerminal(t *testing.T) {
	type piece struct {
		Name string `json:"name"`
		Code string `json:"code"`
	}
	parts := []string{
		"if",
		"else ",
		"func x",
		"'",
		`"`,
		"`",
		"\\",
		"//",
		"/*",
		"*/",
		"#",
		"--",
		`"""`,
		"'''",
		"[[",
		"]]",
		"<!--",
		"-->",
		"{-",
		"-}",
		"12.5",
		"0x1f",
		"a.b",
		"größe",
		"日本",
		"😀",
		"\n",
		" ",
		"\t",
		"٣",
		"_",
		"SELECT ",
		"select",
	}
	var all []piece
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range markdown.Languages() {
		for range 60 {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			all = append(all, piece{l.Names[0], b.String()})
		}
	}
	all = append(all, piece{"nothing", "if x"})
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, p := range all {
		if err := encoder.Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	out := bytes.Split(bytes.TrimSpace(node(t, &in, "unit/highlight.mjs")), []byte("\n"))
	if len(out) != len(all) {
		t.Fatalf("%d answers for %d pieces", len(out), len(all))
	}
	for n, p := range all {
		var got [][2]string
		if err := json.Unmarshal(out[n], &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(colors(p.Name, p.Code), colorsOf(got)); diff != "" {
			t.Fatalf("%s %q (-terminal +page):\n%s", p.Name, p.Code, diff)
		}
	}
}

// colors gives each byte of the lines of a code its color, with a letter.
func colors(name, code string) []string {
	var out []string
	inside := markdown.Inside("")
	for line := range strings.SplitSeq(code, "\n") {
		var spans terminal.Line
		spans, inside = markdown.Highlight(name, inside, line)
		said := ""
		for _, s := range spans {
			letter := map[terminal.Style]string{
				{}: ".", {Color: terminal.Green}: "s", {Attr: terminal.Faint}: "c", {Color: terminal.Yellow}: "n", {Color: terminal.Magenta}: "k",
			}[s.Style]
			said += strings.Repeat(letter, len(s.Text))
		}
		out = append(out, said)
	}
	return out
}

func colorsOf(pieces [][2]string) []string {
	out := []string{""}
	for _, p := range pieces {
		letter := map[string]string{"": ".", "string": "s", "comment": "c", "number": "n", "keyword": "k"}[p[0]]
		for n, part := range strings.Split(p[1], "\n") {
			if n > 0 {
				out = append(out, "")
			}
			out[len(out)-1] += strings.Repeat(letter, len(part))
		}
	}
	return out
}
