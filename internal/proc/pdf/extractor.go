package pdf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

const (
	// parseTimeout is the time after which the extractor returns the text so far.
	parseTimeout = 6 * time.Second
	// maxMemory bounds the heap of the extractor in bytes.
	maxMemory = 512 << 20
	// maxPages, maxNodes and maxDepth bound the tree of pages.
	maxPages, maxNodes, maxDepth = 5000, 10_000, 32
	// maxRead bounds the bytes that the parser reads: it reads an object again for each
	// reference to it, and follows references in circles.
	maxRead = 1 << 30
)

// RunAsExtractor lets this program read PDFs. Main calls it after RunAsSupervisor: in an
// extractor it never returns, elsewhere it returns at once.
func RunAsExtractor() {
	program.isExtractor.Store(true)
	if len(os.Args) != 4 || os.Args[1] != extractorName {
		return
	}
	from, err := strconv.Atoi(os.Args[2])
	limit, wrong := strconv.Atoi(os.Args[3])
	if err != nil || wrong != nil {
		os.Exit(2)
	}
	debug.SetMemoryLimit(maxMemory / 2)
	limitProcess()
	go watchMemory() // ends with the process
	data, err := io.ReadAll(io.LimitReader(os.Stdin, MaxBytes+1))
	if err != nil {
		os.Exit(1)
	}
	if json.NewEncoder(os.Stdout).Encode(read(data, from, limit, time.Now().Add(parseTimeout))) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// watchMemory ends the process when its heap is too large, on systems where no limit of the
// system does.
func watchMemory() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		time.Sleep(10 * time.Millisecond)
		if metrics.Read(sample); sample[0].Value.Uint64() > maxMemory {
			os.Exit(3)
		}
	}
}

// read reads pages until the deadline.
func read(data []byte, from, limit int, deadline time.Time) (out Extracted) {
	r, err := open(data, deadline)
	if err != nil {
		return Extracted{Problem: problem(err), Encrypted: isEncryption(err)}
	}
	t := tree{nodes: maxNodes}
	var pages []pdf.Page
	err = guard(func() {
		out.Encrypted = !r.Trailer().Key("Encrypt").IsNull()
		t.add(r.Trailer().Key("Root").Key("Pages"), 0)
		pages = t.pages
	})
	out.Pages, out.From = len(pages), max(from, 1)
	switch {
	case err != nil && len(pages) == 0:
		out.Problem = problem(err)
		return out
	case len(pages) == 0:
		out.Problem = "it has no pages"
		return out
	case out.From > len(pages) && t.isCut:
		out.Problem = uncounted(len(pages))
		return out
	case out.From > len(pages):
		out.Problem = fmt.Sprintf("it ends with page %d", len(pages))
		return out
	}
	pages = pages[out.From-1:]
	if limit > 0 {
		pages = pages[:min(limit, len(pages))]
	}
	readPages(&out, pages, deadline)
	if t.isCut && out.Problem == "" && out.From+len(out.Text) > out.Pages {
		out.Problem = uncounted(out.Pages)
	}
	return out
}

// uncounted reports that the tree of pages was cut after so many.
func uncounted(pages int) string {
	return fmt.Sprintf("it has more pages than the %d that settle counts", pages)
}

// readPages adds the texts of pages until the deadline, or until the text is too long.
func readPages(out *Extracted, pages []pdf.Page, deadline time.Time) {
	room := MaxText
	for n, page := range pages {
		if time.Now().After(deadline) {
			out.Problem = fmt.Sprintf("reading page %d and those after it takes too long", out.From+n)
			break
		}
		var text string
		if guard(func() { text = pageText(contentOf(page)) }) != nil {
			out.Unreadable++
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		if len(text) > room {
			out.Problem = fmt.Sprintf("its text has more than %d KB before the end of page %d", MaxText>>10, out.From+n)
			break
		}
		room -= len(text)
		out.Text = append(out.Text, text)
	}
}

// open parses the file's table of objects. The parser wants a version up to 1.7 in the first
// line and the mark of the end at the end; other programs accept more.
func open(data []byte, deadline time.Time) (*pdf.Reader, error) {
	head := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	if head < 0 {
		return nil, errNoPDF
	}
	data = bytes.Clone(data[head:]) // places in the file count from its mark
	if end := bytes.LastIndex(data, []byte("%%EOF")); end >= 0 {
		data = data[:end+len("%%EOF")]
	}
	const first = "%PDF-1.7\n" // a comment to everything but the check
	if len(data) < 100 {
		return nil, errCut
	}
	copy(data, first)
	return pdf.NewReader(&file{bytes.NewReader(data), maxRead, deadline}, int64(len(data)))
}

var (
	errNoPDF = errors.New("it is no PDF")
	errCut   = errors.New("it is cut off")
	errLoop  = errors.New("reading it takes too long, perhaps because it refers to itself")
)

// guard calls f, whose parser panics about malformed files.
func guard(f func()) (err error) {
	defer func() {
		if x := recover(); x != nil {
			if err, _ = x.(error); err == nil {
				err = fmt.Errorf("%v", x)
			}
		}
	}()
	f()
	return nil
}

// problem is an error of the parser for people.
func problem(err error) string {
	if isEncryption(err) {
		return "it is encrypted; a copy without a password can be read"
	}
	for _, known := range []error{errNoPDF, errCut, errLoop} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	message := strings.TrimPrefix(err.Error(), "malformed PDF: ")
	return "it is malformed: " + strings.ToValidUTF8(message[:min(len(message), 200)], "")
}

func isEncryption(err error) bool {
	return errors.Is(err, pdf.ErrInvalidPassword) || strings.Contains(err.Error(), "encrypt")
}

// tree collects the leaves of the tree of pages.
type tree struct {
	pages []pdf.Page
	nodes int  // that may still be visited
	isCut bool // not all were visited
}

func (t *tree) add(node pdf.Value, depth int) {
	children := node.Key("Kids")
	for i := range children.Len() {
		if len(t.pages) == maxPages || t.nodes == 0 || depth == maxDepth {
			t.isCut = true
			return
		}
		t.nodes--
		child := children.Index(i)
		switch {
		case child.Key("Kids").Kind() == pdf.Array:
			t.add(child, depth+1)
		case child.Kind() == pdf.Dict:
			t.pages = append(t.pages, pdf.Page{V: child})
		}
	}
}

// file bounds the bytes that the parser reads. Further reads panic, because the parser
// takes an error for the end of the file.
type file struct {
	*bytes.Reader
	left     int64
	deadline time.Time
}

// ReadAt implements [io.ReaderAt].
func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if f.left -= max(int64(len(p)), 4096); f.left < 0 || time.Now().After(f.deadline) {
		panic(errLoop)
	}
	return f.Reader.ReadAt(p, at)
}
