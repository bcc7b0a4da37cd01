package file

import (
	"fmt"
	"strings"
	"testing"
)

const header = "(notebook, %d cells, python; shown as cells, which offset and limit count. " +
	"edit replaces text of one cell as shown; grep and patches work on the file, which is JSON)\n"

const someNotebook = `{"nbformat":4,"metadata":{"language_info":{"name":"python"}},"cells":[
{"cell_type":"markdown","source":["# Title\n","text"],"attachments":{"a.png":{"image/png":"aGVsbG8="}}},
{"cell_type":"code","execution_count":3,"source":"print(1)\n","outputs":[
 {"output_type":"stream","name":"stdout","text":["1\n"]},
 {"output_type":"execute_result","data":{"text/plain":["2"],"image/png":"aGVsbG8gd29ybGQ="}},
 {"output_type":"error","ename":"ValueError","evalue":"\u001b[31mno\u001b[0m","traceback":["x"]}]},
{"cell_type":"code","execution_count":null,"source":[],"outputs":[]}]}`

func TestReadNotebookShowsCells(t *testing.T) {
	w := newFixture(t)
	w.put("a.ipynb", someNotebook)
	want := fmt.Sprintf(header, 3) + `
[1] markdown
# Title
text
attachment: a.png, not shown

[2] code, run 3
print(1)
output:
1
output:
2
output: image/png, 12 bytes, not shown
output:
ValueError: no

[3] code
`
	if got := w.ok("read", args{"path": "a.ipynb"}).Output; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := w.ok("read", args{"path": "a.ipynb", "offset": 1, "limit": 1}).Output; got != fmt.Sprintf(header, 3)+
		"\n[1] markdown\n# Title\ntext\nattachment: a.png, not shown\n\n(cells 1-1 of 3; read on with offset 2)\n" {
		t.Errorf("the first cell: %q", got)
	}
	if got := w.fails("read", args{"path": "a.ipynb", "offset": 4}); !strings.Contains(got, "has 3 cells") {
		t.Errorf("beyond the end: %q", got)
	}
	// The model does not know the whole file, not even of a plain notebook: metadata is in no cell.
	w.put("b.ipynb", `{"nbformat":4,"cells":[{"cell_type":"raw","source":"x","metadata":{"tags":["keep"]}}]}`)
	w.ok("read", args{"path": "b.ipynb"})
	for _, name := range []string{"a.ipynb", "b.ipynb"} {
		got := w.fails("write", args{"path": name, "content": "{}"})
		if !strings.Contains(got, "shows a notebook's cells only") {
			t.Errorf("write: %q", got)
		}
	}
	w.ok("edit", args{"path": "b.ipynb", "old_string": `"x"`, "new_string": `"y"`})
}

// A file that is not a notebook is read as text, and a hostile one is bounded.
func TestReadNotebookOfAnotherForm(t *testing.T) {
	w := newFixture(t)
	for _, content := range []string{
		"no JSON", `{"nbformat":3,"worksheets":[]}`, `[]`, `{"nbformat":4,"cells":[null]}`,
		`{"nbformat":4,"cells":[{"source":7}]}`, strings.Repeat("[", 20_000),
	} {
		w.put("a.ipynb", content)
		if got := w.ok("read", args{"path": "a.ipynb"}).Output; !strings.HasPrefix(got, "     1\t"+content[:2]) {
			t.Errorf("%.30q: got %.200q", content, got)
		}
	}
	w.put("a.ipynb", `{"nbformat":4,"cells":[]}`)
	got := w.ok("read", args{"path": "a.ipynb"}).Output
	if !strings.HasPrefix(got, "(notebook, 0 cells, unknown language") {
		t.Errorf("an empty notebook: %q", got)
	}
	long := strings.Repeat("é", maxReadBytes)
	w.put("a.ipynb", `{"nbformat":4,"cells":[{"source":"`+long+`"},{"source":"x","outputs":[{"text":"`+long+`"}]}]}`)
	first := w.ok("read", args{"path": "a.ipynb"}).Output
	if len(first) > maxReadBytes+300 || !strings.Contains(first, "(cells 1-1 of 2; read on with offset 2)") ||
		!strings.Contains(first, "(cell 1 is cut; grep finds the rest in the file)") {
		t.Errorf("a long cell has %d bytes: …%q", len(first), first[len(first)-200:])
	}
	second := w.ok("read", args{"path": "a.ipynb", "offset": 2}).Output
	if len(second) > maxCellOutput+500 || !strings.Contains(second, "… (cut, it has 131072 bytes)") {
		t.Errorf("a long output has %d bytes", len(second))
	}
}

// edit takes the text of a cell as read shows it, and changes nothing else of the file.
func TestEditNotebookCells(t *testing.T) {
	const before = `{"nbformat": 4, "metadata": {"a": "# Title"}, "cells": [
 {"cell_type": "markdown", "source": [
   "# Title\n",
   "t\u00e9xt <b>"
  ]},
 {"cell_type": "code", "outputs": [{"text": "x = 1"}], "source": "x = 1\nprint(x)\n"},
 {"source": []},
 {"source": ["print(x)"]}
]}`
	w := newFixture(t)
	for _, c := range []struct{ old, new, from, to string }{
		{
			"# Title\ntéxt <b>", "# New\n\n\"quoted\"\nend",
			"[\n   \"# Title\\n\",\n   \"t\\u00e9xt <b>\"\n  ]",
			"[\n   \"# New\\n\",\n   \"\\n\",\n   \"\\\"quoted\\\"\\n\",\n   \"end\"\n  ]",
		},
		{"x = 1\nprint", "y\nprint", `"source": "x = 1\nprint(x)\n"`, `"source": "y\nprint(x)\n"`},
		{"x = 1", "x = \"<1>\"", `"source": "x = 1\nprint(x)\n"`, `"source": "x = \"<1>\"\nprint(x)\n"`},
		{`"cell_type": "code"`, `"cell_type": "raw"`, `"cell_type": "code"`, `"cell_type": "raw"`}, // not in a cell
	} {
		w.put("a.ipynb", before)
		w.ok("edit", args{"path": "a.ipynb", "old_string": c.old, "new_string": c.new})
		want := strings.Replace(before, c.from, c.to, 1)
		if w.want("a.ipynb", want); want == before {
			t.Errorf("%q: %q is not there", c.old, c.from)
		}
	}
	w.put("a.ipynb", before)
	got := w.fails("edit", args{"path": "a.ipynb", "old_string": "print(x)", "new_string": "y"})
	if !strings.Contains(got, "occurs 2 times in \"a.ipynb\", in the cells 2, 4;") {
		t.Errorf("in two cells: %q", got)
	}
	got = w.fails("edit", args{"path": "a.ipynb", "old_string": `"code"`, "new_string": "\"co\nde\""})
	if !strings.Contains(got, "would not be JSON any longer; nothing was changed") {
		t.Errorf("broken JSON: %q", got)
	}
	got = w.fails("edit", args{"path": "a.ipynb", "old_string": "absent", "new_string": "y"})
	if !strings.Contains(got, "a notebook is a JSON file") {
		t.Errorf("absent: %q", got)
	}
	w.ok("edit", args{"path": "a.ipynb", "old_string": "print(x)", "new_string": "", "replace_all": true})
	w.want("a.ipynb", strings.ReplaceAll(strings.ReplaceAll(before, `\nprint(x)\n`, `\n\n`), `["print(x)"]`, `[]`))
}

// An edit changes only the characters that it replaces: neither another line of the cell, nor
// escapes, white space and broken characters.
func TestEditNotebookKeepsOtherBytes(t *testing.T) {
	w := newFixture(t)
	for _, c := range []struct{ source, old, new, want string }{
		{
			`["\ud83d \/\n","b\u00e9 x\n" , "c", "\u2028\n","\xff"]`, "x", "y",
			`["\ud83d \/\n","b\u00e9 y\n" , "c", "\u2028\n","\xff"]`,
		},
		{`["a\n","b\n","c"]`, "b\n", "", `["a\n","c"]`},
		{`["a\n","b\n","c"]`, "b\n", "x", `["a\n","xc"]`},
		{`["a\n","b\n","c"]`, "b\nc", "x\ny\n", `["a\n","x\n","y\n"]`},
		{`["a\n",  "b\n","", "c"]`, "a\nb", "x", `["x\n","", "c"]`},
		{`["a\n","b"]`, "b", "", `["a\n"]`},
		{`["a\n","b"]`, "a\nb", "", `[]`},
		{`[ "a" ]`, "a", "x\ny", `[ "x\n", "y" ]`},
		{`["a\n"]`, "a\n", "x\ny\n", `["x\n", "y\n"]`},
		{`"\ud83d\ude00 a\r\n\ud83d"`, "😀 a", "\"", `"\"\r\n\ud83d"`},
		{`"a"`, "a", "", `""`},
	} {
		file := func(source string) string {
			source = strings.ReplaceAll(source, `\xff`, "\xff")
			return `{"nbformat":4,"cells":[{"source":"z"},{"source": ` + source + ` }]}`
		}
		for _, bom := range []string{"", utf8BOM} {
			w.put("a.ipynb", bom+file(c.source))
			w.ok("edit", args{"path": "a.ipynb", "old_string": c.old, "new_string": c.new})
			w.want("a.ipynb", bom+file(c.want))
		}
	}
	w.put("a.ipynb", `{"nbformat":4,"cells":[{"source":"\ud83d"}]}`)
	w.fails("edit", args{"path": "a.ipynb", "old_string": "\uFFFD", "new_string": "x"})
	w.put("a.ipynb", utf8BOM+`{"nbformat":4,"cells":[]}`)
	got := w.fails("edit", args{"path": "a.ipynb", "old_string": "[]", "new_string": "["})
	if !strings.Contains(got, "would not be JSON any longer; nothing was changed") {
		t.Errorf("broken JSON with a byte order mark: %q", got)
	}
}

// JSON decoders match keys without regard to case, and take the last one.
func TestEditNotebookOfOddForm(t *testing.T) {
	w := newFixture(t)
	for before, after := range map[string]string{
		`{"nbformat":4,"cells":[{"source":"xx"}],"Cells":[]}`:             `{"nbformat":4,"cells":[{"source":"y"}],"Cells":[]}`,
		`{"cells":null,"nbformat":4,"source":"xx"}`:                       `{"cells":null,"nbformat":4,"source":"y"}`,
		`{"nbformat":4,"cells":[{"source":"a","Source":["xx"]}]}`:         `{"nbformat":4,"cells":[{"source":"a","Source":["y"]}]}`,
		`{"nbformat":4,"cells":[{"source":null},{"SOURCE":["xx",null]}]}`: `{"nbformat":4,"cells":[{"source":null},{"SOURCE":["y",null]}]}`,
	} {
		w.put("a.ipynb", before)
		w.ok("edit", args{"path": "a.ipynb", "old_string": "xx", "new_string": "y"})
		w.want("a.ipynb", after)
	}
}
