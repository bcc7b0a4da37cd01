package image

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"unicode/utf8"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc/pdf"
)

// Attached are the files that come with a prompt.
type Attached struct {
	Images    []event.Image
	Documents []event.Document
}

// Add adds the image or PDF in a file that a person or client names. It follows links.
func (a *Attached) Add(path string) error {
	data, err := disk.ReadRegular(path, max(maxBytes, pdf.MaxBytes))
	if err != nil {
		return fmt.Errorf("cannot read the image or PDF: %w", err)
	}
	name := filepath.Base(path)
	// A text can mention the mark of PDFs after its first bytes.
	if pdf.IsPDF(data) && (bytes.HasPrefix(data, []byte("%PDF-")) || !utf8.Valid(data)) {
		d, err := NewDocument(data, name)
		a.Documents = append(a.Documents, d)
		return err
	}
	i, err := New(http.DetectContentType(data), data, name)
	if err != nil {
		return fmt.Errorf("cannot attach %q: %w, and no PDF", path, err)
	}
	a.Images = append(a.Images, i)
	return nil
}

// NewDocument is a PDF; the session reads its text.
func NewDocument(data []byte, name string) (event.Document, error) {
	if !pdf.IsPDF(data) {
		return event.Document{}, errors.New("it is no PDF")
	}
	return event.Document{MediaType: pdf.MediaType, Data: data, Name: name}, nil
}
