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
	"github.com/settle-agent/settle/internal/test/pdftest"
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
		p.types("\x1b") // it had no effect: it is in the editor, with its image
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

// C10: Esc and Ctrl-C take back an input whose PDF is being read. Answers do not wait for it, and
// no later input overtakes it.
func TestInputWithPDFCanBeTakenBack(t *testing.T) {
	dir := slowPDF(t)
	read := func(ctx context.Context, documents []event.Document) ([]event.Document, error) {
		select {
		case <-time.After(time.Hour):
			documents[0].Pages, documents[0].Text = 1, "x"
			return documents, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{documents: read}, script.Text("Fine."))
		for _, key := range []string{"\x1b", "\x03"} {
			p.types("\x15sum up @slow.pdf\r")
			p.sees("↳ reading slow.pdf (Esc cancels): sum up @slow.pdf")
			p.types(key)
			p.sees("> sum up @slow.pdf", "not sent; it is in the editor again")
			p.misses("↳ reading")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		p.misses("▌ sum up")
		p.types("\x15go on\r")
		p.sees("▌ go on", "Fine.")
		p.types("\x04")
		p.left(code, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{documents: read}, script.Text("A summary."), script.Text("And that."))
		p.types("sum up @slow.pdf\r")
		p.types("and more\r") // it would overtake
		p.sees("> and more", "Esc cancels it")
		time.Sleep(time.Hour)
		synctest.Wait()
		p.sees("▌ sum up @slow.pdf", "A summary.", "> and more")
		p.types("\r")
		p.sees("And that.")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Esc and Ctrl-C take back the input whose files are read, and leave the running turn alone. A second
// key interrupts the turn.
func TestTakingBackAnInputDoesNotInterrupt(t *testing.T) {
	dir := slowPDF(t)
	for _, key := range []string{"\x1b", "\x03"} {
		synctest.Test(t, func(t *testing.T) {
			p, code := newPersonIn(t, dir, Options{documents: endless},
				script.Turn(script.Headers(), script.Delay(time.Hour), script.Text("Fine.")))
			p.types("go on\r")
			p.types("sum up @slow.pdf\r")
			p.sees("↳ reading slow.pdf (Esc cancels): sum up @slow.pdf")
			p.types(key)
			p.sees("> sum up @slow.pdf", "not sent; it is in the editor again")
			p.misses("■ interrupted")
			p.types("\x15" + key)
			p.sees("■ interrupted")
			p.types("\x15\x04")
			p.left(code, 0)
		})
	}
}

// A command that sends a prompt of its own does not overtake an input whose files are read.
func TestInitAndReviewDoNotOvertake(t *testing.T) {
	dir := slowPDF(t)
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{documents: endless})
		p.types("sum up @slow.pdf\r")
		for _, command := range []string{"/init", "/review the docs"} {
			p.types(command + "\r")
			p.sees("↳ reading slow.pdf", "> "+command, "waiting for sum up @slow.pdf; Esc cancels it")
			p.misses("▌")
			p.types("\x15")
		}
		p.types("\x1b\x15\x04")
		p.left(code, 0)
	})
}

// An answer does not wait for a PDF.
func TestAnswerDoesNotWaitForPDF(t *testing.T) {
	dir := slowPDF(t)
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{documents: endless},
			script.Turn(script.Headers(), script.Delay(10*time.Second), script.Call("shell", `{"command":"count"}`)),
			script.Text("Fine."))
		p.types("count\r")
		p.types("sum up @slow.pdf\r")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p.sees("? settle asks before this call", "↳ reading slow.pdf")
		p.types("y")
		p.sees("● $ count", "↳ reading slow.pdf")
		p.types("\x04")
		p.left(code, 0)
	})
}

// slowPDF returns a directory with slow.pdf.
func slowPDF(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slow.pdf"), pdftest.New("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// endless reads documents until it is cancelled.
func endless(ctx context.Context, _ []event.Document) ([]event.Document, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
