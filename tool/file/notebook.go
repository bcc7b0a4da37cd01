package file

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/settle-agent/settle/tool"
)

const (
	// maxNotebook bounds the notebooks that are shown as cells, in bytes; longer ones are
	// shown as text.
	maxNotebook = 16 << 20
	// maxCellOutput bounds each output of a cell in bytes.
	maxCellOutput = 2000
	// minNotebookFormat is the first format whose cells are in one list.
	minNotebookFormat = 4
)

func isNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

// notebook is a Jupyter notebook, format 4.
type notebook struct {
	Format   int     `json:"nbformat"`
	Cells    []*cell `json:"cells"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`

	data []byte // the file
}

type cell struct {
	Kind    string       `json:"cell_type"`
	Count   *int         `json:"execution_count"`
	Source  text         `json:"source"`
	Outputs []cellOutput `json:"outputs"`
	// Attachments are files in a cell, such as pictures of a text, by name.
	Attachments map[string]json.RawMessage `json:"attachments"`
}

type cellOutput struct {
	Text  text                       `json:"text"` // of a stream
	Data  map[string]json.RawMessage `json:"data"`
	Error string                     `json:"ename"`
	Value string                     `json:"evalue"`
}

// text is a text as notebooks have it: one string, or a list of lines.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(raw []byte) error {
	var lines []string
	if err := json.Unmarshal(raw, &lines); err == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// readNotebook reads a notebook. It returns nil, and the whole text, for a file that is none.
func readNotebook(r io.Reader) (n *notebook, rest io.Reader, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxNotebook+1))
	if err != nil {
		return nil, nil, err
	}
	n = &notebook{data: data}
	valid := len(data) <= maxNotebook && json.Unmarshal(bytes.TrimPrefix(data, []byte(utf8BOM)), n) == nil
	if !valid || n.Format < minNotebookFormat || slices.Contains(n.Cells, nil) {
		return nil, io.MultiReader(bytes.NewReader(data), r), nil
	}
	return n, nil, nil
}

// readCells shows cells from the offset on, which counts cells.
func (w *Workspace) readCells(p place, n *notebook, in ReadArguments) (tool.Result, error) {
	from := max(int(in.Offset), 1)
	limit := cmp.Or(int(in.Limit), maxReadLines)
	if from > max(len(n.Cells), 1) {
		return tool.Result{}, fmt.Errorf("cell %d is beyond the end: %q has %d cells", from, p.Shown, len(n.Cells))
	}
	var out strings.Builder
	language := cmp.Or(n.Metadata.Language.Name, n.Metadata.Kernel.Language, "unknown language")
	fmt.Fprintf(&out, "(notebook, %d cells, %s; shown as cells, which offset and limit count. "+
		"edit replaces text of one cell as shown; grep and patches work on the file, which is JSON)\n",
		len(n.Cells), cleanText(language))
	shown := 0
	for i := from - 1; i < len(n.Cells) && shown < limit; i++ {
		text := n.Cells[i].render(i + 1)
		if room := maxReadBytes - out.Len(); len(text) > room {
			if shown > 0 {
				break
			}
			text = cutText(text, room) + fmt.Sprintf("\n(cell %d is cut; grep finds the rest in the file)\n", i+1)
		}
		out.WriteString(text)
		shown++
	}
	if last := from + shown - 1; last < len(n.Cells) {
		fmt.Fprintf(&out, "\n(cells %d-%d of %d; read on with offset %d)\n", from, last, len(n.Cells), last+1)
	}
	// The model does not know the file: metadata, tracebacks and the like are in no cell.
	return tool.Result{Output: out.String(), Detail: reading(p.Shown, "")}, nil
}

// render shows a cell with its outputs.
func (c *cell) render(number int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n[%d] %s", number, cleanText(cmp.Or(c.Kind, "cell")))
	if c.Count != nil {
		fmt.Fprintf(&out, ", run %d", *c.Count)
	}
	out.WriteString("\n")
	endLine(&out, strings.ToValidUTF8(string(c.Source), "\uFFFD"))
	for _, name := range slices.Sorted(maps.Keys(c.Attachments)) {
		fmt.Fprintf(&out, "attachment: %s, not shown\n", cleanText(name))
	}
	for _, o := range c.Outputs {
		text := cleanText(string(o.Text))
		if plain, found := o.Data["text/plain"]; found {
			text += o.decoded(plain)
		}
		if o.Error != "" {
			text += cleanText(o.Error + ": " + o.Value) // the traceback repeats the source
		}
		if len(text) > maxCellOutput {
			text = cutText(text, maxCellOutput)
		}
		if text != "" {
			out.WriteString("output:\n")
			endLine(&out, text)
		}
		for _, kind := range slices.Sorted(maps.Keys(o.Data)) {
			if kind == "text/plain" {
				continue
			}
			fmt.Fprintf(&out, "output: %s, %s, not shown\n", cleanText(kind), o.size(kind))
		}
	}
	return out.String()
}

// decoded returns a text of an output's data.
func (cellOutput) decoded(raw json.RawMessage) string {
	var t text
	_ = json.Unmarshal(raw, &t) // an output of another form is left out
	return cleanText(string(t))
}

// size returns the size of an output's data, of an image without its encoding.
func (o cellOutput) size(kind string) string {
	var t text
	if json.Unmarshal(o.Data[kind], &t) != nil {
		return byteCount(int64(len(o.Data[kind])))
	}
	if strings.HasPrefix(kind, "image/") && kind != "image/svg+xml" {
		return byteCount(int64(base64.StdEncoding.DecodedLen(len(t))))
	}
	return byteCount(int64(len(t)))
}

// cleanText returns a text without the colors that kernels put into outputs.
func cleanText(s string) string { return strings.ToValidUTF8(ansi.Strip(s), "\uFFFD") }

// cutText cuts a text between characters.
func cutText(s string, maximum int) string {
	return s[:runeBoundary([]byte(s), max(min(maximum, len(s)-1), 0))] + fmt.Sprintf("… (cut, it has %d bytes)", len(s))
}

// endLine writes a text so that it ends with a line break.
func endLine(out *strings.Builder, s string) {
	out.WriteString(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		out.WriteString("\n")
	}
}
