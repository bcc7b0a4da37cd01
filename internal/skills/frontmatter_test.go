package skills_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/skills"
)

func TestSplit(t *testing.T) {
	for name, tt := range map[string]struct {
		text, head, body string
		ok               bool
	}{
		"both":             {"---\na: b\n---\nbody\n", "a: b\n", "body\n", true},
		"spaces after it":  {"---\na: b\n---  \nbody", "a: b\n", "body", true},
		"no body":          {"---\na: b\n---", "a: b\n", "", true},
		"an empty head":    {"---\n---\nbody", "", "body", true},
		"none":             {"body\n---\n", "", "body\n---\n", false},
		"left open":        {"---\na: b\n", "", "---\na: b\n", false},
		"not at the start": {"\n---\na: b\n---\n", "", "\n---\na: b\n---\n", false},
		"dashes in a line": {"---\na: ---b\n---\n---\n", "a: ---b\n", "---\n", true},
		"foreign and bare": {skills.Clean("\ufeff---\r\na: b\r\n---\r\nx\xff"), "a: b\n", "x\uFFFD", true},
	} {
		t.Run(name, func(t *testing.T) {
			head, body, ok := skills.Split(tt.text)
			if head != tt.head || body != tt.body || ok != tt.ok {
				t.Errorf("%q, %q, %v", head, body, ok)
			}
		})
	}
}

// The forms of front matter that people write.
func TestParse(t *testing.T) {
	h, err := skills.Parse(`# a comment
name: 'pdf-tools'
description: >-
  Reads PDF files:
  text and tables.
version: 1.10
license: |
  MIT
  and more
metadata:
  author: somebody
  parts: [1, 2]
allowed-tools: Bash(git log:*), Read Grep
tools:
  - Read
  - Bash(git log:*)
off: no
empty:
argument-hint: [FILE] 
`)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		h.Text("name"), h.Text("description"), h.Text("version"), h.Text("license"), h.Map("metadata"),
		h.List("allowed-tools"), h.List("tools"),
		h.Bool("off", true), h.Bool("missing", true), h.Text("empty"), h.Text("missing"), h.Text("argument-hint"),
		h.List("missing"), h.Map("name"),
	}
	want := []any{
		"pdf-tools", "Reads PDF files: text and tables.", "1.10", "MIT\nand more",
		map[string]string{"author": "somebody", "parts": "[1, 2]"},
		[]string{"Bash(git log:*)", "Read", "Grep"},
		[]string{"Read", "Bash(git log:*)"},
		false, true, "", "", "[FILE]", []string(nil), map[string]string(nil),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Other agents read front matter line by line; settle accepts entries that are not YAML.
func TestParseWhatIsNoYAML(t *testing.T) {
	h, err := skills.Parse(
		"name: x\ndescription: Use this when: the user's asks for it\nargument-hint: [a] [b]\nallowed-tools: *\n",
	)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{h.Text("name"), h.Text("description"), h.Text("argument-hint"), h.Text("allowed-tools")}
	if diff := cmp.Diff([]string{"x", "Use this when: the user's asks for it", "[a] [b]", "*"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestParseMixedForms: an entry that is not YAML affects no other entry.
func TestParseMixedForms(t *testing.T) {
	h, err := skills.Parse(`description: Use when: always # not for tests
quoted: "two
  lines" # a comment
tools:
  - Read
  - Bash(git log: *)
  - "Edit"
  - *
metadata:
  note: use it when: needed
  author: 'some#body' # a comment
anchor: &x [a]
copy: *x
model: @fast
escaped: "\u00e9\n"
single: 'it''s'
nested: {a: [1, {b: c}], d: ~}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		h.Text("description"), h.Text("quoted"), h.List("tools"), h.Map("metadata"), h.List("anchor"), h.Text("copy"),
		h.Text("model"),
		h.Text("escaped"), h.Text("single"), h.Map("nested"),
	}
	want := []any{
		"Use when: always", "two lines",
		[]string{"Read", "Bash(git log: *)", "Edit", "*"},
		map[string]string{"note": "use it when: needed", "author": "some#body"},
		[]string{"a"},
		"*x", "@fast",
		"\u00e9", "it's",
		map[string]string{"a": "[1, {b: c}]", "d": ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHostileHeads: a head within the limit needs bounded work. With quadratic work, or
// expanded aliases, the test does not end.
func TestHostileHeads(t *testing.T) {
	const size = 64<<10 - 16 // the rest is for the beginning of a row
	repeat := func(text string, suffix string) string { return strings.Repeat(text, size/len(text)-1) + suffix }
	bomb := "a: &a [x, x]\nb:\n"
	for n := range 30 {
		name := string(rune('a' + n%26))
		bomb += "  " + name + ": &" + name + " [*a, *a, *a, *a, *a, *a, *a, *a]\n"
	}
	for name, head := range map[string]string{
		"brackets": "a: " + repeat("[", ""), "closed": "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"braces": "a: " + repeat("{a: ", ""),
		"items":  "a:\n" + repeat("- [\n", ""), "dashes": "a:\n  " + repeat("- ", ""), "keys": repeat("a: [\n", ""),
		"questions": "a:\n  " + repeat("? ", ""),
		"quotes":    "a: \"" + repeat("\\n", "\""), "comments": "a:\n" + repeat("  # c\n", ""),
		"continued": "a:\n  - [\n" + repeat("  b\n", ""),
		"tags":      "a: " + repeat("!!x ", ""), "bomb": bomb,
	} {
		t.Run(name, func(t *testing.T) {
			h, err := skills.Parse(head)
			if err != nil && strings.Contains(err.Error(), "more than") {
				t.Fatalf("the head of %d bytes was not parsed: %v", len(head), err)
			}
			// The same text is a list and a value.
			if values := strings.Join(append(h.List("a"), h.Text("a")), ""); len(values) > 2*len(head) {
				t.Errorf("%d bytes became %d", len(head), len(values))
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for head, want := range map[string]string{
		"name: 'x":                  "no valid YAML",
		"name: x\n\tb: c\n":         "no valid YAML",
		"- a\n- b\n":                "no list of keys",
		"a: b\na: c\n":              `"a" twice`,
		"just words":                "no list of keys",
		strings.Repeat("#", 65<<10): "more than",
	} {
		if h, err := skills.Parse(head); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%.20q: %v, %v", head, h, err)
		}
	}
	if h, err := skills.Parse("# nothing\n"); err != nil || len(h) > 0 {
		t.Errorf("%v, %v", h, err)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                             nil,
		"Read":                         {"Read"},
		"Read, Edit(src/**)  Bash":     {"Read", "Edit(src/**)", "Bash"},
		"Bash(git add:*, x) mcp__a__b": {"Bash(git add:*, x)", "mcp__a__b"},
		"Bash(open":                    {"Bash(open"},
		"Bash)":                        {"Bash)"},
	} {
		if diff := cmp.Diff(want, skills.FrontmatterWords(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"---\nname: x\ndescription: y\n---\nbody", "---\na: [b, c]\n---\n", "---\na: &b [*b]\n---\n",
		"---\na: b: c\n---\n", "---\n? x\n: y\n---\n",
		"---\na: |\n  b\n---\n", "---\n<<: {a: b}\n---\n", "---\n'a': !!binary x\n---\n", "---\na: (b, c\n---\n",
	} {
		f.Add(text)
		f.Add(strings.ReplaceAll(text, "b", "\u00a0"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = skills.Clean(text)
		head, body, ok := skills.Split(text)
		if !utf8.ValidString(text) || !strings.HasSuffix(text, body) || !ok && (head != "" || body != text) {
			t.Fatalf("%q: %q, %q, %v", text, head, body, ok)
		}
		h, err := skills.Parse(head)
		if (h == nil) == (err == nil) {
			t.Fatalf("%v, %v", h, err)
		}
		for key := range h {
			_, _, _, _ = h.Text(key), h.List(key), h.Map(key), h.Bool(key, true)
		}
	})
}
