package file

import (
	"fmt"
	"strings"
)

// A patch in the format that GPT models are trained on ("V4A"); the grammar is
// patchGrammar. Line numbers in errors count lines of the patch.

// opKind is the action of a section of a patch.
type opKind string

const (
	opAdd    opKind = "Add File"
	opDelete opKind = "Delete File"
	opUpdate opKind = "Update File"
)

// patchOp is one section of a patch.
type patchOp struct {
	kind   opKind
	path   string
	line   int    // line of its header, from 1
	moveTo string // update
	add    []string
	hunks  []hunk // update
}

// hunk is a run of lines to find and change.
type hunk struct {
	line    int      // its first line in the patch, from 1
	anchors []string // lines to find first, each after the previous one
	lines   []hunkLine
	atEnd   bool // the run ends the file
}

// hunkLine is a line to keep (' '), to remove ('-') or to add ('+').
type hunkLine struct {
	mark byte
	text string
}

const (
	patchBegin = "*** Begin Patch"
	patchEnd   = "*** End Patch"
	patchEOF   = "*** End of File"
	patchMove  = "*** Move to:"
)

// patchParser reads a patch line by line.
type patchParser struct {
	lines []string
	next  []int // for each line, the index of the next line that is not empty
	at    int   // index of the next line
}

// parsePatch reads a whole patch, or returns an error that names the line.
func parsePatch(text string) ([]patchOp, error) {
	p := newPatchParser(text)
	p.skipBlank()
	if !p.more() || strings.TrimSpace(p.peek()) != patchBegin {
		return nil, p.errorf("the patch must begin with %q", patchBegin)
	}
	p.at++
	var ops []patchOp
	for {
		p.skipBlank()
		if !p.more() {
			return nil, p.errorf("the patch must end with %q; is it cut off?", patchEnd)
		}
		if strings.TrimSpace(p.peek()) == patchEnd {
			break
		}
		op, err := p.section()
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil, p.errorf("the patch names no file")
	}
	p.at++
	if p.skipBlank(); p.more() {
		return nil, p.errorf("there is text after %q", patchEnd)
	}
	return ops, nil
}

func newPatchParser(text string) *patchParser {
	p := &patchParser{lines: strings.Split(text, "\n")}
	p.next = make([]int, len(p.lines))
	next := len(p.lines)
	for i := len(p.lines) - 1; i >= 0; i-- {
		if p.lines[i] = strings.TrimSuffix(p.lines[i], "\r"); p.lines[i] != "" {
			next = i
		}
		p.next[i] = next
	}
	return p
}

func (p *patchParser) more() bool   { return p.at < len(p.lines) }
func (p *patchParser) peek() string { return p.lines[p.at] }

func (p *patchParser) skipBlank() {
	for p.more() && strings.TrimSpace(p.peek()) == "" {
		p.at++
	}
}

func (p *patchParser) errorf(format string, args ...any) error {
	quote := ""
	if p.more() {
		quote = fmt.Sprintf(": %q", clip(p.peek()))
	}
	return fmt.Errorf("line %d of the patch: %s%s", min(p.at+1, len(p.lines)), fmt.Sprintf(format, args...), quote)
}

// clip bounds the quote of a line in an error.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return s[:runeBoundary([]byte(s), limit)] + "…"
}

func (p *patchParser) section() (patchOp, error) {
	for _, kind := range []opKind{opAdd, opDelete, opUpdate} {
		path, ok := strings.CutPrefix(p.peek(), "*** "+string(kind)+":")
		if !ok {
			continue
		}
		op := patchOp{kind: kind, path: strings.TrimSpace(path), line: p.at + 1}
		if op.path == "" {
			return op, p.errorf("a path is missing")
		}
		p.at++
		switch kind {
		case opAdd:
			return op, p.added(&op)
		case opUpdate:
			return op, p.updated(&op)
		}
		return op, p.deleted()
	}
	return patchOp{}, p.errorf(`want "*** Add File: PATH", "*** Delete File: PATH", "*** Update File: PATH" or %q`,
		patchEnd)
}

// following returns the next line that is not empty.
func (p *patchParser) following() string {
	if next := p.next[p.at]; next < len(p.lines) {
		return p.lines[next]
	}
	return patchEnd
}

// sectionEnds reports whether only empty lines precede another section or the end of the
// patch.
func (p *patchParser) sectionEnds() bool {
	l := p.following()
	return strings.HasPrefix(l, "*** ") && strings.TrimSpace(l) != patchEOF
}

// hunkEnds reports whether only empty lines precede the next hunk.
func (p *patchParser) hunkEnds() bool {
	return p.sectionEnds() || strings.HasPrefix(p.following(), "@@")
}

func (p *patchParser) added(op *patchOp) error {
	for p.more() && !p.sectionEnds() {
		text, ok := strings.CutPrefix(p.peek(), "+")
		if !ok {
			return p.errorf(`every line of a new file must begin with "+", an empty one too`)
		}
		op.add = append(op.add, text)
		p.at++
	}
	return nil
}

func (p *patchParser) deleted() error {
	if p.more() && !p.sectionEnds() {
		return p.errorf("nothing may follow the name of a file to delete")
	}
	return nil
}

func (p *patchParser) updated(op *patchOp) error {
	if p.more() && strings.HasPrefix(p.peek(), patchMove) {
		op.moveTo = strings.TrimSpace(strings.TrimPrefix(p.peek(), patchMove))
		if op.moveTo == "" {
			return p.errorf("a path is missing")
		}
		p.at++
	}
	for p.more() && !p.sectionEnds() {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		op.hunks = append(op.hunks, h)
	}
	if len(op.hunks) == 0 && op.moveTo == "" {
		return p.errorf("there is no change to %q", op.path)
	}
	return nil
}

// hunk reads anchors, lines and an optional end-of-file mark.
func (p *patchParser) hunk() (hunk, error) {
	if p.hunkEnds() {
		p.at = p.next[p.at]
	}
	h := hunk{line: p.at + 1}
	for p.more() && strings.HasPrefix(p.peek(), "@@") {
		if err := p.anchor(&h); err != nil {
			return h, err
		}
		p.at++
	}
	for p.more() && !p.hunkEnds() {
		l := p.peek()
		if strings.TrimSpace(l) == patchEOF {
			h.atEnd = true
			p.at++
			break
		}
		switch {
		case l == "": // A blank line of context without its space.
			h.lines = append(h.lines, hunkLine{' ', ""})
		case strings.IndexByte(" +-", l[0]) >= 0:
			h.lines = append(h.lines, hunkLine{l[0], l[1:]})
		default:
			return h, p.errorf(`a line of a change must begin with " ", "-", "+" or "@@"`)
		}
		p.at++
	}
	if len(h.lines) == 0 {
		return h, p.errorf("the change that begins on line %d has no lines", h.line)
	}
	return h, nil
}

func (p *patchParser) anchor(h *hunk) error {
	text, ok := strings.CutPrefix(p.peek(), "@@ ")
	if !ok && strings.TrimSpace(p.peek()) != "@@" {
		return p.errorf(`want "@@" or "@@ " and a line of the file`)
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "-") && strings.Contains(text, " +") && strings.HasSuffix(text, "@@") {
		return p.errorf(
			"line numbers are not part of this format; after @@ write a line of the file, such as the line of the function",
		)
	}
	if ok && text != "" {
		h.anchors = append(h.anchors, text)
	}
	return nil
}
