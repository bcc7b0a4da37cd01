package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/test/pdftest"
)

func TestReadPDF(t *testing.T) {
	f := newFixture(t)
	for name, data := range map[string][]byte{
		"three.pdf":  pdftest.New("First.", "Second.", ""),
		"locked.pdf": pdftest.Encrypted("Secret."),
		"bad.pdf":    []byte("%PDF-1.7\nno more"),
		"junk.pdf":   append([]byte("\x00junk\n"), pdftest.New("After junk.")...),
		"make.sh":    []byte("#!/bin/sh\n# %PDF-1.4\necho made\n"),
	} {
		if err := os.WriteFile(filepath.Join(f.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		call args
		want []string
	}{
		{args{"path": "three.pdf"}, []string{
			"(PDF, 3 pages, shown as text", "--- page 1\nFirst.\n", "--- page 2\nSecond.\n",
			"--- page 3\n(no text: it may be a scanned image)",
		}},
		{args{"path": "three.pdf", "offset": 2, "limit": 1}, []string{
			"--- page 2\nSecond.\n", "(pages 2-2 of 3; read on with offset 3)",
		}},
		{args{"path": "three.pdf", "offset": 9}, []string{`cannot show page 9 of "three.pdf": it ends with page 3`}},
		{args{"path": "locked.pdf"}, []string{"is a PDF", "it is encrypted"}},
		{args{"path": "bad.pdf"}, []string{"is a PDF", "it is cut off"}},
		{args{"path": "junk.pdf"}, []string{"--- page 1\nAfter junk.\n"}},
		{args{"path": "make.sh"}, []string{"2\t# %PDF-1.4\n     3\techo made"}},
	} {
		result, err := f.run("read", c.call)
		got := result.Output
		if err != nil {
			got = err.Error()
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%v: %q is not in %q", c.call["path"], w, got)
			}
		}
	}
}
