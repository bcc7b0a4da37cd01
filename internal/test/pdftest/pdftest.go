// Package pdftest makes small PDF files for tests: with texts, without, encrypted, slow, or of any objects.
package pdftest

import (
	"bytes"
	"fmt"
	"strings"
)

// New returns a PDF with one page per text, a line of which is one string on the page. An empty
// text is a page without any, as of a scan.
func New(pages ...string) []byte { return build("", pages) }

// Encrypted returns a PDF that needs a password.
func Encrypted(pages ...string) []byte {
	owner, user := strings.Repeat("41", 32), strings.Repeat("42", 32)
	return build("/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <"+owner+"> /U <"+user+"> >> "+
		"/ID [<00> <00>]", pages)
}

func build(trailer string, pages []string) []byte {
	var pageNumbers []string
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	for _, text := range pages {
		var content strings.Builder
		if text != "" {
			content.WriteString("BT /F1 12 Tf 14 TL 72 720 Td")
			for n, line := range strings.Split(text, "\n") {
				if n > 0 {
					content.WriteString(" T*")
				}
				fmt.Fprintf(&content, " (%s) Tj", strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(line))
			}
			content.WriteString(" ET")
		}
		pageNumbers = append(pageNumbers, fmt.Sprintf("%d 0 R", len(objects)+1))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "+
				"/Resources << /Font << /F1 3 0 R >> >> >>", len(objects)+2),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String()))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(pageNumbers, " "), len(pages))
	return File(trailer, objects...)
}

// File returns a PDF of the objects, which have the numbers from 1 on; the first is the catalogue.
func File(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var places []int
	for n, object := range objects {
		places = append(places, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, place := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", place)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, start)
	return b.Bytes()
}

// Slow returns a PDF whose table of objects names itself as the earlier one: an extractor reads it
// until its time is up.
func Slow() []byte {
	plain := New("x")
	start := bytes.LastIndex(plain, []byte("xref\n0"))
	return bytes.Replace(plain, []byte("/Root"), fmt.Appendf(nil, "/Prev %d /Root", start), 1)
}
