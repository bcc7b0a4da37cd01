// Package image takes pictures that come with a prompt: files of this machine,
// and data URLs. Nothing is fetched.
//
// Sizes and media types of an image are decided here; document.go takes PDFs as well. Package session
// refuses an image that the model does not take (internal/session/input.go), for every client.
package image

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// maxBytes bounds a picture, as providers do.
const maxBytes = 20 << 20

// Read reads the picture in a file that a person or client names. It follows links.
func Read(path string) (event.Image, error) {
	data, err := disk.ReadRegular(path, maxBytes)
	if err != nil {
		return event.Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	i, err := New(http.DetectContentType(data), data, filepath.Base(path))
	if err != nil {
		return i, fmt.Errorf("cannot use the image %q: %w", path, err)
	}
	return i, nil
}

// New is a picture that came with its media type.
func New(mediaType string, data []byte, name string) (event.Image, error) {
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType):
		return event.Image{}, fmt.Errorf("it is %s, not PNG, JPEG, GIF or WebP", mediaType)
	case len(data) == 0:
		return event.Image{}, errors.New("it is empty")
	}
	return event.Image{MediaType: mediaType, Data: data, Name: name}, nil
}

// Decode decodes the picture in a data URL.
func Decode(url string) (event.Image, error) {
	head, body, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	if !ok || !strings.HasPrefix(url, "data:") {
		return event.Image{}, fmt.Errorf("cannot fetch the image %.100q: send it as a data URL or a file", url)
	}
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	if !isBase64 {
		return event.Image{}, errors.New("cannot read the image: its data URL is not base64")
	}
	kind, _, _ = strings.Cut(kind, ";")
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return event.Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	i, err := New(kind, data, "")
	if err != nil {
		return i, fmt.Errorf("cannot use the image: %w", err)
	}
	return i, nil
}
