package file_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The corpus has the changes of this repository's history up to a commit. Create it again
// with: go test ./tool/file -run TestCorpus -corpus
var makeCorpus = flag.Bool("corpus", false, "make testdata/edits.jsonl.gz anew, which needs git")

const (
	corpusFile   = "testdata/edits.jsonl.gz"
	corpusCommit = "b576305c223b2ccfcfea24490aef580bb00de1e8"
	corpusEdits  = 2500 // number of kept edits
	corpusAround = 20   // lines around a change in the piece
	corpusLines  = 160  // the longest piece
	corpusChange = 25   // the longest change
)

// piece is a piece of a file before a commit, with the commit's change.
type piece struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
	Edits []change `json:"edits"`
}

// change replaces lines.
type change struct {
	At  int      `json:"at"` // index of the first line
	Old int      `json:"old"`
	New []string `json:"new"`
}

// corpus reads the pieces.
func corpus(t testing.TB) (pieces []piece) {
	t.Helper()
	raw, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(r); ; {
		var p piece
		switch err := d.Decode(&p); err {
		case nil:
			pieces = append(pieces, p)
		case io.EOF:
			return pieces
		default:
			t.Fatal(err)
		}
	}
}

// TestCorpus: the corpus has the promised number of edits, and each is consistent.
func TestCorpus(t *testing.T) {
	if *makeCorpus {
		write(t, history(t))
	}
	edits := 0
	for _, p := range corpus(t) {
		edits += len(p.Edits)
		for _, e := range p.Edits {
			if e.At < 0 || e.At+e.Old > len(p.Lines) || e.Old == 0 && len(e.New) == 0 {
				t.Errorf("%s: %+v is no change of %d lines", p.Path, e, len(p.Lines))
			}
		}
	}
	if edits < 2000 {
		t.Errorf("there are %d edits, want 2,000 at the least", edits)
	}
}

func write(t *testing.T, pieces []piece) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	e := json.NewEncoder(z)
	e.SetEscapeHTML(false)
	for _, p := range pieces {
		if err := e.Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(corpusFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// history reads the changes from git, the newest first.
func history(t *testing.T) []piece {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "log", "--no-merges", "-p", "--no-color", "--no-ext-diff",
		"--no-renames", "--diff-filter=M", "--format=", "--diff-algorithm=myers",
		"-U"+itoa(corpusAround), corpusCommit, "--", "*.go", "*.md", "*.js", "*.css", "*.html", "*.sh", "Makefile")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	h := &hunks{}
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 16<<20)
	for s.Scan() && h.edits < corpusEdits {
		h.line(s.Text())
	}
	h.end()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return h.pieces
}

func itoa(n int) string { return string(mustJSON(n)) }

func mustJSON(v any) []byte {
	raw, _ := json.Marshal(v) // numbers
	return raw
}

// hunks reads the output of git.
type hunks struct {
	pieces []piece
	edits  int
	path   string
	now    *piece
	change *change // unfinished change
}

func (h *hunks) line(s string) {
	switch {
	case strings.HasPrefix(s, "+++ b/"):
		h.end()
		h.path = s[len("+++ b/"):]
	case strings.HasPrefix(s, "@@ "):
		h.end()
		h.now = &piece{Path: filepath.Base(h.path)}
	case h.now == nil, s == "":
	case s[0] == ' ':
		h.now.Lines = append(h.now.Lines, s[1:])
		h.change = nil
	case s[0] == '-':
		h.open().Old++
		h.now.Lines = append(h.now.Lines, s[1:])
	case s[0] == '+':
		c := h.open()
		c.New = append(c.New, s[1:])
	case s[0] != '\\':
		h.end()
	}
}

func (h *hunks) open() *change {
	if h.change == nil {
		h.now.Edits = append(h.now.Edits, change{At: len(h.now.Lines)})
		h.change = &h.now.Edits[len(h.now.Edits)-1]
	}
	return h.change
}

// end keeps the piece, unless it is too long.
func (h *hunks) end() {
	p := h.now
	h.now, h.change = nil, nil
	if p == nil || len(p.Lines) > corpusLines || len(p.Lines) < 6 {
		return
	}
	kept := p.Edits[:0]
	for _, e := range p.Edits {
		if e.Old <= corpusChange && len(e.New) <= corpusChange && !same(p.Lines[e.At:e.At+e.Old], e.New) {
			kept = append(kept, e)
		}
	}
	if p.Edits = kept; len(kept) > 0 {
		h.pieces = append(h.pieces, *p)
		h.edits += len(kept)
	}
}

func same(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }
