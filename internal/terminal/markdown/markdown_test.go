package markdown_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

// A link leads to its target, unless its text could claim another one; a bare address
// leads to itself, also where Markdown splits its text.
func TestLinks(t *testing.T) {
	const text = "[a page](https://a.org/x) [https://good.org](https://evil.org) <https://b.org> " +
		"https://c.org/d_e_f. [run](app://x)"
	var got []string
	for _, row := range markdown.NewRenderer().Rows(markdown.Block{Text: text}, 30) {
		for _, s := range row {
			if s.Style.Link != "" {
				got = append(got, s.Text+" → "+s.Style.Link)
			}
		}
	}
	want := []string{
		"a page → https://a.org/x", "https://a.org/x → https://a.org/x", "https://good.org → https://good.org",
		"https://evil.org → https://evil.org", "https://b.org → https://b.org",
		"https://c.org/d_e_f → https://c.org/d_e_f", "run → app://x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const sample = `# Title
Some *text* with **bold**, ` + "`code`" + ` and a [link](https://example.org/x).
It goes on &amp; on.

1. one
2. two
   - nested

     ` + "```go" + `
     x := 1

     ` + "```" + `

3. three

- [x] done
- [ ] open

> quoted

| Name | N |
|------|--:|
| a    | 1 |
| long name | 22 |

` + "```python" + `
def f(): # comment
    """doc

    more"""
    return "x" + 1
` + "```" + `
<b>html</b>

---
end`

// Task lists show boxes, struck text is struck, and a diff has the colors of its signs.
func TestTasksStrikethroughAndDiff(t *testing.T) {
	const text = "- [x] *done*\n- [X] too\n  1. [ ] open `code`\n- [] none\n- [x]none\n- plain ~~gone~~\n\n" +
		"```diff\n-old\n+new\n```\n"
	want := "☑ done\n☑ too\n  1. ☐ open code\n• [] none\n• [x]none\n• plain gone\n\n-old\n+new"
	if diff := cmp.Diff(want, strings.Join(trimmed(rows(text, 60)), "\n")); diff != "" {
		t.Error(diff)
	}
	styles := map[string]terminal.Style{}
	var s markdown.Splitter
	for _, b := range append(s.Write(text), s.Close()...) {
		for _, row := range markdown.NewRenderer().Rows(b, 60) {
			for _, span := range row {
				styles[span.Text] = span.Style
			}
		}
	}
	for text, want := range map[string]terminal.Style{
		"gone": {Attr: terminal.Strike}, "-old": {Color: terminal.Red}, "+new": {Color: terminal.Green},
		"done": {Attr: terminal.Italic},
	} {
		if styles[text] != want {
			t.Errorf("%q has the style %+v, not %+v", text, styles[text], want)
		}
	}
}

func rows(text string, width int) (out []string) {
	var s markdown.Splitter
	r := markdown.NewRenderer()
	for i, b := range append(s.Write(text), s.Close()...) {
		if b.First && i > 0 {
			out = append(out, "")
		}
		for _, row := range r.Rows(b, width) {
			out = append(out, row.Text())
		}
	}
	return out
}

func TestRows(t *testing.T) {
	want := `Title

Some text with bold, code and a link
(https://example.org/x). It goes on & on.

1. one
2. two
   • nested

     x := 1


3. three

☑ done
☐ open

│ quoted

Name      │  N
──────────┼───
a         │  1
long name │ 22

def f(): # comment
    """doc

    more"""
    return "x" + 1

<b>html</b>

──────────────────────────────────────────

end`
	if diff := cmp.Diff(want, strings.Join(trimmed(rows(sample, 42)), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestNarrowTable(t *testing.T) {
	text := "| Name | What it is |\n|--|--|\n| alpha beta | some longer words |\n"
	want := "Name    │ What it\n        │ is\n────────┼────────\nalpha   │ some\nbeta    │ longer\n        │ words"
	if diff := cmp.Diff(want, strings.Join(trimmed(rows(text, 17)), "\n")); diff != "" {
		t.Error(diff)
	}
	want = "Name:\nalpha beta\nWhat it\nis: some\nlonger\nwords"
	if diff := cmp.Diff(want, strings.Join(trimmed(rows(text, 10)), "\n")); diff != "" {
		t.Error(diff)
	}
}

func trimmed(rows []string) []string {
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

// The blocks of a text are the same however it came in, and a block that is
// finished does not change.
func TestSplitterTakesPieces(t *testing.T) {
	var whole markdown.Splitter
	want := append(whole.Write(sample), whole.Close()...)
	for size := 1; size < 12; size++ {
		var s markdown.Splitter
		var got []markdown.Block
		for rest := sample; rest != ""; {
			n := min(size, len(rest))
			got = append(got, s.Write(rest[:n])...)
			rest = rest[n:]
			_ = s.Open()
		}
		if diff := cmp.Diff(want, append(got, s.Close()...)); diff != "" {
			t.Fatalf("in pieces of %d: %s", size, diff)
		}
	}
}

func TestHighlight(t *testing.T) {
	line, inside := markdown.Highlight("go", "", `x := "s" // if`)
	want := terminal.Line{
		{Text: "x"},
		{Text: " "},
		{Text: ":"},
		{Text: "="},
		{Text: " "},
		{Text: `"s"`, Style: terminal.Style{Color: terminal.Green}},
		{Text: " "},
		{Text: "// if", Style: terminal.Style{Attr: terminal.Faint}},
	}
	if diff := cmp.Diff(want, line); diff != "" || inside != "" {
		t.Error(diff, inside)
	}
	if _, inside = markdown.Highlight("go", "", "a /* b"); inside != "*/" {
		t.Errorf("inside is %q", inside)
	}
	if line, inside = markdown.Highlight(
		"go", inside, "c */ if",
	); inside != "" || line[len(line)-1].Style.Color != terminal.Magenta {
		t.Errorf("%q: %+v", inside, line)
	}
}

// The rows of any text fit, and do not depend on the pieces in which it arrived.
func TestDrawnTexts(t *testing.T) {
	parts := []string{
		"|a|b|\n", "|-|-|\n", "- x\n", "\n", "  y\n", "```\n", "```go\n", "\x1b", "*", "**", "_", "`", "[a](b)", "> ", "#", "1. ", "\t", "日本",
		"<b>", "\\", "&amp;", "~~", "---\n", "\u202e", "word ", "    ", "[", "]", "!",
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		checkRows(t, b.String(), 4+r.IntN(60), r.IntN(b.Len()+1))
	}
}

func checkRows(t *testing.T, text string, width, cut int) {
	t.Helper()
	var whole, pieces markdown.Splitter
	want := append(whole.Write(text), whole.Close()...)
	got := append(pieces.Write(text[:cut]), pieces.Write(text[cut:])...)
	if diff := cmp.Diff(want, append(got, pieces.Close()...)); diff != "" {
		t.Fatal(diff)
	}
	r := markdown.NewRenderer()
	for _, b := range want {
		for _, row := range r.Rows(b, width) {
			if row.Width() > width {
				t.Errorf("%q has %d columns, at most %d: %+v", row.Text(), row.Width(), width, b)
			}
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add(sample, 30, 7)
	f.Add("- a\n\n  b\n```\n\x1b[2J\n", 12, 1)
	f.Add("|a|b|\n|-|-|\n|日本語|\u202e|", 9, 3)
	f.Fuzz(func(t *testing.T, text string, width, cut int) {
		checkRows(t, text, min(max(width, 4), 200), min(max(cut, 0), len(text)))
	})
}

// A line without an end is cut, at a position that does not depend on the pieces in which it
// arrived.
func TestEndlessLine(t *testing.T) {
	for _, word := range []string{"word and more ", "日本語", "x"} {
		text := "Begin\n\n" + strings.Repeat(word, 30_000/len(word)) + "\nend"
		var whole, parts markdown.Splitter
		want := append(whole.Write(text), whole.Close()...)
		var got []markdown.Block
		for rest := text; rest != ""; {
			n := min(13, len(rest))
			got = append(got, parts.Write(rest[:n])...)
			if open := parts.Open(); len(open.Text) > 20_000 {
				t.Fatalf("%d bytes are open", len(open.Text))
			}
			rest = rest[n:]
		}
		got = append(got, parts.Close()...)
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
			t.Errorf("%d blocks: %s", len(want), diff)
		}
		joined := ""
		for _, b := range want {
			joined += b.Text
		}
		if strip := strings.NewReplacer("\n", "", " ", ""); strip.Replace(joined) != strip.Replace(text) {
			t.Error("something is missing")
		}
	}
}
