package markdown

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/settle-agent/settle/internal/terminal"
)

// Renderer makes rows of blocks. It is not safe for concurrent use.
type Renderer struct{ parser parser.Parser }

// NewRenderer returns a renderer for CommonMark with tables and strikethrough.
// goldmark's own extensions for these take 0.5 ms in init of every process.
func NewRenderer() *Renderer {
	return &Renderer{parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strikethrough{}, 500))...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)}
}

// struck is the level of an emphasis that is a strikethrough.
const struck = 3

// strikethrough reads ~~text~~.
type strikethrough struct{}

func (strikethrough) Trigger() []byte                                { return []byte{'~'} }
func (strikethrough) IsDelimiter(b byte) bool                        { return b == '~' }
func (strikethrough) CanOpenCloser(open, end *parser.Delimiter) bool { return open.Char == end.Char }

func (strikethrough) OnMatch(int) ast.Node { return ast.NewEmphasis(struck) }

func (p strikethrough) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, p)
	if node == nil || node.OriginalLength > 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

// Rows returns the rows of a block, each at most width columns wide.
func (r *Renderer) Rows(b Block, width int) []terminal.Line {
	if b.Kind == Code {
		line, _ := Highlight(b.Language, b.Inside, b.Text)
		return terminal.Break(terminal.Linked(line), width, terminal.Indent{})
	}
	source := []byte(b.Text)
	p := page{parser: r.parser, source: source, width: width}
	p.blocks(r.parser.Parse(text.NewReader(source)), true)
	return p.rows
}

// page collects the rows of a document.
type page struct {
	parser parser.Parser
	source []byte
	width  int
	rows   []terminal.Line
	indent terminal.Indent // of the next rows
	skip   int             // characters of the next text that the mark of its list item shows
}

// faint is the style of added marks.
func faint() terminal.Style { return terminal.Style{Attr: terminal.Faint} }

// blocks renders the blocks within n; with gaps, an empty row is between them.
func (p *page) blocks(n ast.Node, gaps bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if gaps && c.PreviousSibling() != nil {
			p.put(nil)
		}
		p.block(c)
	}
}

func (p *page) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		p.lines(p.inline(n, terminal.Style{Color: terminal.Cyan, Attr: terminal.Bold}))
	case *ast.List:
		p.list(n)
	case *ast.Blockquote:
		bar := terminal.Plain("│ ", faint())
		p.within(bar, bar, func() { p.blocks(n, true) })
	case *ast.ThematicBreak:
		p.put(terminal.Plain(strings.Repeat("─", max(p.width-p.indent.Rest.Width(), 1)), faint()))
	case *ast.FencedCodeBlock:
		p.code(n.Lines(), strings.ToLower(string(n.Language(p.source))))
	case *ast.CodeBlock:
		p.code(n.Lines(), "")
	case *ast.HTMLBlock:
		p.code(n.Lines(), "")
		if n.HasClosure() {
			p.put(terminal.Plain(strings.TrimRight(string(n.ClosureLine.Value(p.source)), "\n"), terminal.Style{}))
		}
	case *ast.Paragraph:
		if !p.table(n) {
			p.lines(p.inline(n, terminal.Style{}))
		}
	default: // other nodes with text
		p.lines(p.inline(n, terminal.Style{}))
	}
}

// within renders f with more before its rows.
func (p *page) within(first, rest terminal.Line, f func()) {
	outer := p.indent
	p.indent = terminal.Indent{First: join(outer.First, first), Rest: join(outer.Rest, rest)}
	f()
	p.indent = terminal.Indent{First: outer.Rest, Rest: outer.Rest}
}

func join(a, b terminal.Line) terminal.Line { return append(a[:len(a):len(a)], b...) }

func (p *page) list(n *ast.List) {
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if !n.IsTight && c.PreviousSibling() != nil {
			p.put(nil)
		}
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if box := taskBox(c, p.source); box != "" {
			mark, p.skip = strings.TrimPrefix(mark, "• ")+box, taskMark
		}
		rest := terminal.Plain(strings.Repeat(" ", terminal.TextWidth(mark)), terminal.Style{})
		p.within(terminal.Plain(mark, faint()), rest, func() {
			if c.FirstChild() == nil {
				p.put(nil)
			}
			p.blocks(c, !n.IsTight)
		})
	}
}

// taskMark is the length of "[x] ".
const taskMark = 4

// taskBox is the mark of a list item that is a task: done, or not; empty for other items.
func taskBox(item ast.Node, source []byte) string {
	first := item.FirstChild()
	if first == nil || first.Type() != ast.TypeBlock || first.Lines() == nil || first.Lines().Len() == 0 {
		return ""
	}
	if kind := first.Kind(); kind != ast.KindParagraph && kind != ast.KindTextBlock {
		return ""
	}
	line := first.Lines().At(0)
	switch text := string(line.Value(source)); {
	case strings.HasPrefix(text, "[ ] "):
		return "☐ "
	case strings.HasPrefix(text, "[x] "), strings.HasPrefix(text, "[X] "):
		return "☑ "
	}
	return ""
}

// dropped is a line without its first characters.
func dropped(line terminal.Line, n int) (rest terminal.Line) {
	for _, span := range line {
		runes := []rune(span.Text)
		cut := min(n, len(runes))
		n -= cut
		if span.Text = string(runes[cut:]); span.Text != "" {
			rest = append(rest, span)
		}
	}
	return rest
}

func (p *page) code(lines *text.Segments, language string) {
	var inside Inside
	for i := range lines.Len() {
		segment := lines.At(i)
		var line terminal.Line
		line, inside = Highlight(language, inside, strings.TrimRight(string(segment.Value(p.source)), "\r\n"))
		p.rows = append(p.rows, terminal.Break(terminal.Linked(line), p.width, p.indent)...)
		p.indent.First = p.indent.Rest
	}
}

// put adds one row.
func (p *page) put(line terminal.Line) {
	p.rows = append(p.rows, terminal.Clip(join(p.indent.First, line), p.width))
	p.indent.First = p.indent.Rest
}

func (p *page) lines(lines []terminal.Line) {
	for _, line := range lines {
		if p.skip > 0 {
			line, p.skip = dropped(line, p.skip), 0
		}
		p.rows = append(p.rows, terminal.Wrap(line, p.width, p.indent)...)
		p.indent.First = p.indent.Rest
	}
}

// inline returns the lines of text within n: one, but for hard line breaks.
func (p *page) inline(n ast.Node, style terminal.Style) []terminal.Line {
	w := &inline{source: p.source, lines: make([]terminal.Line, 1)}
	w.children(n, style)
	for n, line := range w.lines {
		w.lines[n] = terminal.Linked(line)
	}
	return w.lines
}

// inline collects text.
type inline struct {
	source []byte
	lines  []terminal.Line
}

func (w *inline) add(text string, style terminal.Style) {
	if text != "" {
		last := len(w.lines) - 1
		w.lines[last] = append(w.lines[last], terminal.Span{Text: text, Style: style})
	}
}

func (w *inline) children(n ast.Node, style terminal.Style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, style)
	}
}

func (w *inline) node(n ast.Node, style terminal.Style) {
	switch n := n.(type) {
	case *ast.Text:
		w.add(unescaped(n.Segment.Value(w.source)), style)
		switch {
		case n.HardLineBreak():
			w.lines = append(w.lines, nil)
		case n.SoftLineBreak():
			w.add(" ", style)
		}
	case *ast.String:
		w.add(string(n.Value), style)
	case *ast.CodeSpan:
		w.add(literal(n, w.source), terminal.Style{Color: terminal.Cyan, Attr: style.Attr, Link: style.Link})
	case *ast.Emphasis:
		w.children(
			n,
			style.With(
				map[int]terminal.Attribute{1: terminal.Italic, 2: terminal.Bold, struck: terminal.Strike}[n.Level],
			),
		)
	case *ast.Link:
		to, text := string(n.Destination), literal(n, w.source)
		style = style.With(terminal.Underline)
		if !strings.ContainsAny(text, "./") { // else the text could claim another address
			style.Link = to
		}
		w.children(n, style)
		if to != text {
			w.add(" ("+to+")", faint())
		}
	case *ast.Image:
		w.add("[image: ", faint())
		w.children(n, style)
		w.add("] ("+string(n.Destination)+")", faint())
	case *ast.AutoLink:
		w.add(string(n.Label(w.source)), style.With(terminal.Underline))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			w.add(string(segment.Value(w.source)), style)
		}
	default:
		w.children(n, style)
	}
}

// unescaped resolves backslashes and entities.
func unescaped(raw []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(raw))))
}

// literal is the text within n as it is written.
func literal(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteString(" ")
			}
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}
