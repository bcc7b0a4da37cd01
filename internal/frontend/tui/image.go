package tui

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/disk"
)

// maxPath bounds a path in bytes.
const maxPath = 4096

// imagePart returns the part that represents an image.
func imagePart(i event.Image) part {
	return part{text: "[image: " + i.Name + "]", folded: true, image: &i}
}

// imagesOf returns the images in a text.
func imagesOf(parts []part) (out []event.Image) {
	for _, p := range parts {
		if p.image != nil && len(p.image.Data) > 0 { // else it is not read yet
			out = append(out, *p.image)
		}
	}
	return out
}

// partsOfInput is an input as a person typed it.
func partsOfInput(in *event.Input) []part {
	if len(in.Images) == 0 {
		return foldedParts(transcript.Typed(in))
	}
	return withImages(in.Text, in.Images, foldedParts)
}

// withImages is a text in which images stand.
func withImages(text string, images []event.Image, partsOf func(string) []part) (parts []part) {
	for _, i := range images {
		p := imagePart(i)
		before, after, found := strings.Cut(text, p.text)
		if !found { // it was named in another way, and will be again; or it was taken out
			continue
		}
		parts = append(append(parts, partsOf(before)...), p)
		text = after
	}
	return append(parts, partsOf(text)...)
}

// replace puts parts where the image stands.
func (e *editor) replace(image *event.Image, parts []part) {
	at := slices.IndexFunc(e.parts, func(p part) bool { return p.image == image })
	if at < 0 {
		return
	}
	e.parts = slices.Replace(slices.Clone(e.parts), at, at+1, parts...)
	if e.at > at {
		e.at += len(parts) - 1
	}
}

func isImage(path string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(filepath.Ext(path)))
}

func isPDF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".pdf") }

// imagePath returns the path of an image that a text is, as terminals paste a file
// that is dropped on them: quoted, with backslashes, or as a URL.
func imagePath(text, dir string) (string, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxPath || strings.Contains(text, "\n") {
		return "", false
	}
	if rest, ok := strings.CutPrefix(text, "file://"); ok {
		if name, err := url.PathUnescape(rest); err == nil {
			text = name
		}
	} else if quote := text[0]; len(text) > 2 && (quote == '\'' || quote == '"') && text[len(text)-1] == quote {
		text = text[1 : len(text)-1]
	} else if filepath.Separator == '/' {
		text = strings.NewReplacer(`\\`, `\`, `\`, "").Replace(text)
	}
	if !isImage(text) && !isPDF(text) {
		return "", false
	}
	return disk.AbsoluteIn(dir, text), true
}

// mention is a path after "@", as completion leaves it.
var mention = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)@("[^"\n]+"|[^\s"]+)`) })

// mentioned returns the images and PDFs that a text names after "@", as they are written.
func mentioned(text string) (names []string) {
	for _, m := range mention().FindAllStringSubmatch(text, -1) {
		if name := strings.Trim(m[1], `"`); isImage(name) || isPDF(name) {
			names = append(names, name)
		}
	}
	return names
}

// firstFile is the name of the first image or PDF that a text names after "@"; "" for none.
func firstFile(text string) string {
	if names := mentioned(text); len(names) > 0 {
		return filepath.Base(filepath.FromSlash(names[0]))
	}
	return ""
}

// named returns the images and PDFs that a text names after "@". A name without a regular file is
// left to the model; a file that cannot be attached is an error.
func named(dir, text string) (out image.Attached, err error) {
	for _, name := range mentioned(text) {
		path := disk.AbsoluteIn(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := out.Add(path); err != nil {
			return out, fmt.Errorf("not sent: %w; without the @ before %q, only the name is sent", err, name)
		}
	}
	return out, nil
}

// mentionOf names a path in a text, so that named finds it.
func mentionOf(path string) string {
	if strings.ContainsAny(path, " \t") {
		return `@"` + path + `" `
	}
	return "@" + path + " "
}
