package tui

import (
	"bytes"
	"context"
	goimage "image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/model/script"
)

func TestImagePath(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b.png":                 "/a/b.png",
		" shot.PNG\n":              "/w/shot.PNG",
		`'/a/my shot.jpg'`:         "/a/my shot.jpg",
		`/a/my\ shot\ \(1\).webp`:  "/a/my shot (1).webp",
		"file:///a/my%20shot.jpeg": "/a/my shot.jpeg",
		"/a/b.txt":                 "",
		"/a/b.png\n/c.png":         "",
		"":                         "",
	} {
		if got, ok := imagePath(text, "/w"); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// An input with images goes back into the editor as it was typed.
func TestPartsOfInput(t *testing.T) {
	in := &event.Input{
		Text: "see [image: a.png] and [image: b.png]!",
		Images: []event.Image{
			{Name: "a.png", Data: []byte("a")},
			{Name: "named.png", Data: []byte("n")},
			{Name: "b.png", Data: []byte("b")},
		},
	}
	parts := partsOfInput(in)
	if joinParts(parts) != in.Text || len(imagesOf(parts)) != 2 {
		t.Errorf("%q with %d images", joinParts(parts), len(imagesOf(parts)))
	}
}

// A path of an image that is pasted, or named after "@", has the image sent.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := png.Encode(&b, goimage.NewGray(goimage.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a shot.png", "named.png"} {
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "fake.png"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{}, script.Turn(script.Headers(), script.Stall()))
		p.types("what is \x1b[200~" + strings.ReplaceAll(filepath.Join(dir, "a shot.png"), " ", `\ `) + "\x1b[201~")
		p.sees("> what is [image: a shot.png]")
		p.types(" and @named.png or \x1b[200~fake.png\x1b[201~?")
		p.types("\r")
		p.sees(
			"▌ what is [image: a shot.png] and @named.png or fake.png?", "[image 1: image/png", "[image 2: image/png",
		)
		p.misses("[image 3")
		p.types("\x1b") // nothing came of it: it is in the editor, with its image
		p.types("!\r")
		p.sees("fake.png?!")
		rows := strings.Join(p.tty.rows(), "\n")
		if n := strings.Count(rows, "[image 1: image/png"); n != 2 {
			t.Errorf("the image was sent %d times:\n%s", n, rows)
		}
		p.types("\x04\x04")
		p.left(code, 0)
	})
}

// A prompt that names an image or a PDF that cannot be attached is not sent without it.
func TestUnattachableFileComesBack(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big.pdf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "big.pdf"), 21<<20); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{}, script.Text("Fine."))
		p.types("sum up @big.pdf\r")
		p.sees("not sent: ", "larger", `"big.pdf",`, "> sum up @big.pdf") // the rest is in rows of any width
		p.types("\x15sum up @missing.pdf\r")
		p.sees("Fine.")
		p.types("\x04\x04")
		p.left(code, 0)
	})
}

// A request with PDFs has the time that reading them can take.
func TestDocumentsExtendTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounded, cancel := context.WithTimeout(t.Context(), actTimeout)
		defer cancel()
		u := &UI{ctx: t.Context()}
		for documents, want := range map[int]time.Duration{0: actTimeout, 2: actTimeout + 2*pdf.Timeout} {
			ctx, cancel := u.reading(bounded, documents)
			if deadline, _ := ctx.Deadline(); time.Until(deadline) != want {
				t.Errorf("%d PDFs have %s, want %s", documents, time.Until(deadline), want)
			}
			cancel()
		}
	})
}
