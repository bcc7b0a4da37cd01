package web

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

const (
	// maxDepth bounds nested lists and quotes.
	maxDepth = 16
	// maxLink bounds the address of a link in bytes.
	maxLink = 500
)

// markdown converts a page to Markdown. It reads the tags in one pass and builds no tree;
// wrongly nested tags only affect the layout. The result has at most maxBody bytes; isCut
// reports that it was cut.
func markdown(page string, base *url.URL) (text string, isCut bool) {
	w := &writer{base: base}
	z := html.NewTokenizer(strings.NewReader(page))
	for !w.full && w.out.Len()+w.line.Len() <= maxBody {
		switch kind := z.Next(); kind {
		case html.ErrorToken: // the end
			w.flush()
			return strings.TrimSpace(w.out.String()), w.full
		case html.TextToken:
			w.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			w.open(t)
			if kind == html.SelfClosingTagToken {
				w.close(t.Data)
			}
		case html.EndTagToken:
			t := z.Token()
			w.close(t.Data)
		}
	}
	return strings.TrimSpace(w.out.String()), true
}

// writer writes Markdown. Empty lines separate blocks.
type writer struct {
	base *url.URL
	out  strings.Builder
	line strings.Builder // the current block

	hidden string // the tag whose content is omitted; "" for none
	nested int    // tags of that name in it
	pre    int    // white space matters
	quotes int    // of blocks
	lists  []int  // the next number of each; 0 has none
	link   string // target of the open link; "" for none
	cells  int    // of the current row
	tight  bool   // the next block follows without an empty line
	prefix string // of the block's first line
	full   bool   // the next block would be too long
}

// hides reports whether the content of a tag is not for readers.
func hides(tag string) bool {
	switch tag {
	case "script", "style", "noscript", "template", "svg", "iframe", "object", "select", "button", "math", "canvas",
		"audio", "video":
		return true
	}
	return false
}

func (w *writer) open(t html.Token) {
	if w.hidden != "" {
		if t.Data == w.hidden {
			w.nested++
		}
		return
	}
	if hides(t.Data) {
		w.hidden, w.nested = t.Data, 1
		return
	}
	switch t.Data {
	case "title", "h1", "h2", "h3", "h4", "h5", "h6":
		w.flush()
		level := 1
		if len(t.Data) == 2 {
			level = int(t.Data[1] - '0')
		}
		w.prefix = strings.Repeat("#", level) + " "
	case "ul", "ol":
		w.flush()
		if len(w.lists) < maxDepth {
			next := 0
			if t.Data == "ol" {
				next = 1
			}
			w.lists = append(w.lists, next)
		}
	case "li":
		w.flush()
		w.item()
	case "blockquote":
		w.flush()
		w.quotes = min(w.quotes+1, maxDepth)
	case "pre":
		w.flush()
		w.pre++
		w.line.WriteString("```\n")
	case "code", "kbd", "samp":
		if w.pre == 0 {
			w.line.WriteByte('`')
		}
	case "strong", "b":
		w.line.WriteString("**")
	case "br":
		w.line.WriteByte('\n')
	case "hr":
		w.flush()
		w.line.WriteString("---")
		w.flush()
	case "tr":
		w.flush()
		w.tight, w.cells = w.cells > 0, 0
	case "td", "th":
		w.line.WriteString("| ")
		w.cells++
	case "a":
		w.close("a") // links cannot be nested
		if w.link = w.address(t, "href"); w.link != "" {
			w.line.WriteByte('[')
		}
	case "img":
		if alt := attribute(t, "alt"); alt != "" {
			w.line.WriteString("![" + strings.Join(strings.Fields(alt), " ") + "]")
		}
	default:
		if isBlock(t.Data) {
			w.flush()
		}
	}
}

// item begins an item of a list.
func (w *writer) item() {
	mark := "- "
	if n := len(w.lists) - 1; n >= 0 && w.lists[n] > 0 {
		mark = strconv.Itoa(w.lists[n]) + ". "
		w.lists[n]++
	}
	w.prefix, w.tight = strings.Repeat("  ", max(0, len(w.lists)-1))+mark, true
}

func (w *writer) close(tag string) {
	if w.hidden != "" {
		if tag == w.hidden {
			if w.nested--; w.nested <= 0 {
				w.hidden = ""
			}
		}
		return
	}
	switch tag {
	case "ul", "ol":
		w.flush()
		w.lists = w.lists[:max(0, len(w.lists)-1)]
	case "blockquote":
		w.flush()
		w.quotes = max(0, w.quotes-1)
	case "pre":
		if w.pre > 0 {
			w.line.WriteString("\n```")
			w.flush()
			w.pre--
		}
	case "code", "kbd", "samp":
		if w.pre == 0 {
			w.line.WriteByte('`')
		}
	case "strong", "b":
		w.line.WriteString("**")
	case "td", "th":
		w.line.WriteByte(' ')
	case "table":
		w.flush()
		w.cells = 0
	case "a":
		if w.link != "" {
			w.line.WriteString("](" + w.link + ")")
		}
		w.link = ""
	default:
		if isBlock(tag) {
			w.flush()
		}
	}
}

func isBlock(tag string) bool {
	switch tag {
	case "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "table", "tr", "li", "dl",
		"dt", "dd", "figure", "figcaption",
		"form", "fieldset", "details", "summary", "address", "title", "h1", "h2", "h3", "h4", "h5", "h6", "body",
		"head":
		return true
	}
	return false
}

// text adds words. Outside pre, white space becomes one space.
func (w *writer) text(text string) {
	if w.hidden != "" {
		return
	}
	if w.pre > 0 {
		w.line.WriteString(text)
		return
	}
	words := strings.Join(strings.Fields(text), " ")
	if text != "" && strings.TrimLeft(text, " \t\r\n") != text {
		w.space()
	}
	if words == "" {
		return
	}
	w.line.WriteString(words)
	if strings.TrimRight(text, " \t\r\n") != text {
		w.space()
	}
}

func (w *writer) space() {
	if s := w.line.String(); s != "" && !strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "\n") {
		w.line.WriteByte(' ')
	}
}

// flush ends the block.
func (w *writer) flush() {
	block := w.line.String()
	w.line.Reset()
	if w.pre == 0 {
		block = strings.TrimSpace(block)
	}
	if strings.Trim(block, " \n*`|") == "" {
		return // only marks; the next block begins with them
	}
	prefix, tight := w.prefix, w.tight
	w.prefix, w.tight = "", false
	if strings.HasPrefix(block, "| ") {
		block += " |"
	}
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
		if !tight {
			w.out.WriteByte('\n')
		}
	}
	block = prefix + block
	mark := strings.Repeat("> ", w.quotes)
	if w.full = w.out.Len()+len(block)+(1+strings.Count(block, "\n"))*len(mark) > maxBody; w.full {
		return
	}
	if w.quotes > 0 {
		block = mark + strings.ReplaceAll(block, "\n", "\n"+mark)
	}
	w.out.WriteString(block)
}

// address returns the target of a link, resolved by the page; "" for the page itself or an
// invalid one.
func (w *writer) address(t html.Token, name string) string {
	text := strings.TrimSpace(attribute(t, name))
	if text == "" || strings.HasPrefix(text, "#") || len(text) > maxLink {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if w.base != nil {
		u = w.base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String())
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
