package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/test/pdftest"
)

func TestExtract(t *testing.T) {
	three := pdftest.New("First page.\nSecond line.", "Page (two) \\ here", "")
	second := Extracted{Pages: 3, From: 2, Text: []string{`Page (two) \ here`}}
	for name, c := range map[string]struct {
		data        []byte
		from, limit int
		want        Extracted
	}{
		"all": {three, 0, 0, Extracted{
			Pages: 3, From: 1, Text: []string{"First page.\nSecond line.", second.Text[0], ""},
		}},
		"one":    {three, 2, 1, second},
		"beyond": {three, 4, 1, Extracted{Pages: 3, From: 4, Problem: "it ends with page 3"}},
		"encrypted": {pdftest.Encrypted("secret"), 0, 0, Extracted{
			Encrypted: true, Problem: "it is encrypted; a copy without a password can be read",
		}},
		"no PDF":     {[]byte("hello"), 0, 0, Extracted{Problem: "it is no PDF"}},
		"cut off":    {three[:80], 0, 0, Extracted{Problem: "it is cut off"}},
		"PDF 2.0":    {bytes.Replace(three, []byte("%PDF-1.4"), []byte("%PDF-2.0"), 1), 2, 1, second},
		"junk after": {append(bytes.Clone(three), "\n\x00\x00"...), 2, 1, second},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Extract(t.Context(), c.data, c.from, c.limit)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// A tree of pages that is cut says so, so that nobody takes the count for the file's.
func TestExtractReportsUncountedPages(t *testing.T) {
	data := pdftest.File("", "<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids ["+strings.Repeat("3 0 R ", maxPages+1)+"] >>", "<< /Type /Page /Parent 2 0 R >>")
	for from, want := range map[int]string{
		1: "", maxPages: "more pages than the 5000 that", maxPages + 1: "more pages than the 5000 that",
	} {
		got, err := Extract(t.Context(), data, from, 1)
		if err != nil || got.Pages != maxPages || (got.Problem == "") != (want == "") ||
			!strings.Contains(got.Problem, want) {
			t.Errorf("from page %d: %+v, %v", from, got, err)
		}
	}
}

// Hostile files end in a problem, never in the end of this process.
func TestExtractHostileFiles(t *testing.T) {
	var bomb bytes.Buffer
	w := zlib.NewWriter(&bomb)
	_, _ = w.Write([]byte("BT /F1 12 Tf\n"))
	line := bytes.Repeat([]byte("(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj\n"), 1<<10)
	for range 8 << 10 {
		_, _ = w.Write(line)
	}
	_ = w.Close()
	page := "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
	tree, font := "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Font /Subtype /Type1 >>"
	catalog := "<< /Type /Catalog /Pages 2 0 R >>"
	file := func(content string) []byte { return pdftest.File("", catalog, tree, page, content, font) }
	plain := pdftest.New("x")
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"bomb": {file(fmt.Sprintf(
			"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", bomb.Len(), bomb.String())), ""},
		"huge table":     {bytes.Replace(plain, []byte("xref\n0 "), []byte("xref\n99999999999 "), 1), "more memory"},
		"loop of tables": {pdftest.Slow(), ""},
		"loop of pages": {
			pdftest.File("", catalog, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"), "it has no pages",
		},
		"no operands": {file("<< /Length 9 >>\nstream\nQ TJ Tm Do\nendstream"), ""},
		"no filter":   {file("<< /Length 1 /Filter /No >>\nstream\nQ\nendstream"), ""},
		"wrong table": {bytes.Replace(plain, []byte("startxref\n"), []byte("startxref\n9"), 1), "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Extract(t.Context(), c.data, 0, 0)
			text := strings.Join(got.Text, "")
			if err != nil || !strings.Contains(got.Problem, c.want) || strings.Contains(text, "a") {
				t.Errorf("got %.300v, %v", got, err)
			}
		})
	}
}

// A font that states the widths of all glyphs again and again costs the page nothing.
func TestExtractBoundsWidths(t *testing.T) {
	content := "BT /F1 12 Tf <00410042> Tj ET"
	for name, widths := range map[string]string{
		"wide range":  "-9000000000000000000 65535 500",
		"many ranges": strings.Repeat("0 65535 500 ", 20_000),
	} {
		data := pdftest.File("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
			"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
			"<< /Type /Font /Subtype /CIDFontType2 /W ["+widths+"] >>")
		if got, err := Extract(t.Context(), data, 0, 0); err != nil || got.Problem != "" || len(got.Text) != 1 {
			t.Errorf("%s: %.300v, %v", name, got, err)
		}
	}
}

func TestExtractEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Extract(ctx, pdftest.New("x"), 0, 0); err == nil {
		t.Error("no error")
	}
}

func TestExtractBoundsExtractors(t *testing.T) {
	for range maxExtractors {
		slots <- struct{}{}
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, late)
	defer cancel()
	if got, err := Extract(ctx, pdftest.New("x"), 0, 0); !errors.Is(err, late) {
		t.Errorf("without a free slot: %v, %v", got, err)
	}
	<-slots
	if got, err := Extract(t.Context(), pdftest.New("x"), 0, 0); err != nil || got.Pages != 1 {
		t.Errorf("with a free slot: %v, %v", got, err)
	}
	if <-slots; len(slots) != 0 {
		t.Errorf("%d slots are still taken", len(slots))
	}
}
