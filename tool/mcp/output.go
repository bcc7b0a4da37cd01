package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/tool"
)

const (
	// maxOutput bounds the model's part of a result in bytes.
	maxOutput = 32 << 10
	// maxFiles bounds the images and other files of a result that are stored.
	maxFiles = 16
)

// rendered returns a server's result as text. It stores images and other data in files, and
// also the whole of a text that is too long.
func (s *Servers) rendered(call tool.Call, r *sdk.CallToolResult) (tool.Result, error) {
	if r == nil {
		return tool.Result{}, errors.New("the server answered with no result")
	}
	w := writer{dir: s.config.SpoolDir, name: call.ID}
	for _, content := range r.Content {
		w.content(content)
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		raw, err := json.Marshal(r.StructuredContent)
		if err == nil {
			w.part(string(raw))
		}
	}
	text := strings.ToValidUTF8(strings.Join(w.parts, "\n"), "\uFFFD")
	result := tool.Result{Output: text, Failed: r.IsError}
	if len(text) > maxOutput {
		result.Output = excerpt(text, maxOutput)
		result.OutputBytes = int64(len(text))
		if path, err := s.keepText(call.ID, text); err == nil {
			result.OutputFile = path
			result.Output += fmt.Sprintf("\n[The whole result is in %s.]", path)
		}
	}
	return result, nil
}

// excerpt returns the beginning and the end of a text, together limit bytes.
func excerpt(text string, limit int) string {
	return bound.Ends(text, limit/2, limit/2, "[… %d bytes are left out here …]")
}

// keepText stores a whole result with masked secrets (C15).
func (s *Servers) keepText(name, text string) (string, error) {
	if s.config.SpoolDir == "" {
		return "", errors.New("there is no directory for it")
	}
	return spooled(s.config.SpoolDir, name+".log", []byte(s.masked(text)))
}

// masked masks the session's secrets in a text.
func (s *Servers) masked(text string) string {
	if s.config.Mask == nil {
		return text
	}
	m := s.config.Mask()
	return m.Write(text) + m.Flush()
}

func spooled(dir, name string, data []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot keep a result: %w", err)
	}
	path := filepath.Join(dir, filepath.Base(name))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("cannot keep a result: %w", err)
	}
	return path, nil
}

// writer converts the parts of a result to text.
type writer struct {
	dir, name string
	files     int
	parts     []string
	// pictures, if set, receives the images that an input can contain.
	pictures *[]event.Image
}

func (w *writer) part(text string) { w.parts = append(w.parts, text) }

func (w *writer) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		w.part(c.Text)
	case *sdk.ImageContent:
		w.part(w.file("image", c.MIMEType, c.Data))
	case *sdk.AudioContent:
		w.part(w.file("audio", c.MIMEType, c.Data))
	case *sdk.ResourceLink:
		w.part(joined("[resource link: ", c.Name, c.URI, c.MIMEType, c.Description) + "]")
	case *sdk.EmbeddedResource:
		w.resource(c.Resource)
	default:
		w.part(fmt.Sprintf("[content of a kind that settle does not know: %T]", c))
	}
}

func (w *writer) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		kind := "resource"
		if strings.HasPrefix(r.MIMEType, "image/") {
			kind = "image"
		}
		w.part("[resource: " + r.URI + "] " + w.file(kind, r.MIMEType, r.Blob))
	default:
		w.part("[resource: " + r.URI + "]\n" + r.Text)
	}
}

// file stores data that is not text, and returns a line with its path.
func (w *writer) file(kind, mediaType string, data []byte) string {
	if w.takes(data) {
		name := fmt.Sprintf("%s-%d", w.name, len(*w.pictures)+1)
		*w.pictures = append(*w.pictures, event.Image{MediaType: http.DetectContentType(data), Data: data, Name: name})
		return "[image: " + name + "]"
	}
	description := fmt.Sprintf("%s, %s, %d bytes", kind, mediaType, len(data))
	if w.dir == "" || w.files == maxFiles {
		return "[" + description + ", not kept]"
	}
	w.files++
	path, err := spooled(w.dir, fmt.Sprintf("%s-%d%s", w.name, w.files, extension(mediaType)), data)
	if err != nil {
		return "[" + description + ", not kept: " + err.Error() + "]"
	}
	return "[" + description + ", kept in " + path + "]"
}

// takes reports whether data is an image that an input can contain.
func (w *writer) takes(data []byte) bool {
	if w.pictures == nil || len(*w.pictures) == maxImages || len(data) > maxImage {
		return false
	}
	switch http.DetectContentType(data) {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// extension returns the file extension of a media type. For common types it does not use
// the system's tables.
func extension(mediaType string) string {
	parsed, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return ".bin"
	}
	known := map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
		"audio/wav": ".wav", "audio/mpeg": ".mp3", "application/pdf": ".pdf",
	}
	if suffix := known[parsed]; suffix != "" {
		return suffix
	}
	return ".bin"
}

func joined(first string, parts ...string) string {
	var there []string
	for _, part := range parts {
		if part != "" {
			there = append(there, part)
		}
	}
	return first + strings.Join(there, ", ")
}
