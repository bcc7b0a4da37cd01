package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

const (
	// MediaType is the media type of PDFs.
	MediaType = "application/pdf"
	// MaxBytes bounds the PDFs that are read.
	MaxBytes = 20 << 20
	// MaxText bounds the text of one extraction in bytes.
	MaxText = 512 << 10
	// timeout bounds an extraction as a whole; the extractor itself stops after parseTimeout.
	timeout = 15 * time.Second
	// maxOutput bounds the extractor's answer: JSON can write a byte as six.
	maxOutput = 6*MaxText + 64<<10
	// maxExtractors bounds the extractors that run at the same time.
	maxExtractors = 2
	// extractorName is the first argument of an extractor.
	extractorName = "settle-pdf-extractor"
)

// Extracted is the text and the page count of a PDF.
type Extracted struct {
	// Pages is the number of pages in the file, 0 if it is unknown.
	Pages int `json:"pages,omitempty"`
	// From is the number of the first page in Text, which has one text per page.
	From int      `json:"from,omitempty"`
	Text []string `json:"text,omitempty"`
	// Encrypted reports that the file is encrypted, with or without a password.
	Encrypted bool `json:"encrypted,omitempty"`
	// Unreadable counts the pages of Text whose contents the parser did not understand.
	Unreadable int `json:"unreadable,omitempty"`
	// Problem is the reason why Text is empty, or ends before the last requested page.
	Problem string `json:"problem,omitempty"`
}

// program reports whether main called RunAsExtractor: only then does this binary act as an
// extractor when it is executed again.
var program struct{ isExtractor atomic.Bool }

// slots bounds the extractors of this process: further extractions wait.
var slots = make(chan struct{}, maxExtractors)

// ErrNoExtractor refuses an extraction in a program whose main does not call RunAsExtractor.
var ErrNoExtractor = errors.New("this program cannot read PDFs: its main does not call RunAsSupervisor first")

// IsPDF reports whether a file that begins with head is a PDF: its mark is within the first
// 1024 bytes (ISO 32000, annex H.3).
func IsPDF(head []byte) bool {
	return bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-"))
}

// Extract reads the text of at most limit pages, from the page from on; 0 pages are all. Faults
// of the file are in Problem. An error means that no extractor ran, or that ctx ended.
//
// At most two extractors run at the same time; the wait for them does not count as reading.
func Extract(ctx context.Context, data []byte, from, limit int) (Extracted, error) {
	if len(data) > MaxBytes {
		return Extracted{Problem: fmt.Sprintf("it has more than %d MB", MaxBytes>>20)}, nil
	}
	if !program.isExtractor.Load() {
		return Extracted{}, ErrNoExtractor
	}
	program := "/proc/self/exe" // this program, even after an upgrade on disk
	if runtime.GOOS != "linux" {
		var err error
		if program, err = os.Executable(); err != nil {
			return Extracted{}, fmt.Errorf("cannot find this program: %w", err)
		}
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return Extracted{}, context.Cause(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := proc.Run(bounded, proc.Command{
		Argv: []string{program, extractorName, strconv.Itoa(from), strconv.Itoa(limit)},
		Dir:  os.TempDir(), Stdin: data, MaxBytes: maxOutput, Grace: time.Millisecond,
		Env: []string{"GOMAXPROCS=1"},
	})
	switch {
	case ctx.Err() != nil:
		return Extracted{}, context.Cause(ctx)
	case bounded.Err() != nil:
		return Extracted{Problem: fmt.Sprintf("reading it took longer than %s", timeout)}, nil
	case err != nil:
		return Extracted{}, fmt.Errorf("cannot start a process that reads the PDF: %w", err)
	case !out.OK() || out.Truncated:
		return Extracted{Problem: "reading it needs more memory than settle gives it"}, nil
	}
	var e Extracted
	if err := json.Unmarshal(out.Stdout, &e); err != nil {
		return Extracted{}, fmt.Errorf("cannot read what the extractor returned: %w", err)
	}
	return e, nil
}

// Pages returns a number of pages in words.
func Pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

// Join returns the texts of all pages with a line before each page, and a note about missing
// parts. The text is empty for a file without text.
func (e *Extracted) Join() (text, problem string) {
	var out strings.Builder
	empty := 0
	for n, page := range e.Text {
		if page == "" {
			empty++
		}
		fmt.Fprintf(&out, "--- page %d of %d\n%s\n", e.From+n, e.Pages, page)
	}
	var missing []string
	if e.Problem != "" {
		missing = append(missing, e.Problem)
	}
	if e.Unreadable > 0 {
		missing = append(missing, Pages(e.Unreadable)+" could not be read")
	}
	if empty -= e.Unreadable; empty > 0 {
		missing = append(missing, "no text on "+Pages(empty)+", perhaps scanned images")
	}
	if empty+e.Unreadable == len(e.Text) {
		return "", strings.Join(missing, "; ")
	}
	return strings.TrimSuffix(out.String(), "\n"), strings.Join(missing, "; ")
}
