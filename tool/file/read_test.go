package file

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// A lossy WebP of 1×1 pixel.
const webp = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA="

func readFixture(t *testing.T) *fixture {
	f := newFixture(t)
	f.put("a.txt", "one\ntwo\nthree\n")
	f.put("open.txt", "one\ntwo")
	f.put("empty.txt", "")
	f.put("newline.txt", "\n")
	f.put("long.txt", strings.Repeat("é", 5000)+"\nshort\n")
	f.put("crlf.txt", "one\r\ntwo\r\n")
	f.put("mixed.txt", "one\r\ntwo\n")
	f.put("bom.txt", utf8BOM+"one\n")
	f.put("latin1.txt", "caf\xe9\n")
	f.put("dir/x.go", "package x\n")
	f.put("nul.bin", "a\x00b")
	f.put("control.txt", "\x1b[1mbold\x1b[0m\n")
	f.put("utf16.txt", "\xff\xfeo\x00n\x00")
	f.put("doc.pdf", "%PDF-1.7\nno nul here\n")
	f.put("script.ps", "%!PS-Adobe-3.0\nshowpage\n")
	var img bytes.Buffer
	if err := png.Encode(&img, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	f.put("pic.png", img.String())
	raw, err := base64.StdEncoding.DecodeString(webp)
	if err != nil {
		t.Fatal(err)
	}
	f.put("pic.webp", string(raw))
	f.put("broken.png", img.String()[:20])
	return f
}

func TestRead(t *testing.T) {
	f := readFixture(t)
	var b strings.Builder
	for _, in := range []args{
		{"path": "a.txt"},
		{"path": "./dir/../a.txt", "offset": 2},
		{"path": "a.txt", "limit": 1},
		{"path": "a.txt", "offset": 2, "limit": 1},
		{"path": "a.txt", "offset": 2.0, "limit": 9},
		{"path": "a.txt", "offset": 4},
		{"path": "a.txt", "offset": 0},
		{"path": "a.txt", "limit": 5000},
		{"path": "open.txt"},
		{"path": "empty.txt"},
		{"path": "newline.txt"},
		{"path": "crlf.txt"},
		{"path": "mixed.txt"},
		{"path": "bom.txt"},
		{"path": "latin1.txt"},
		{"path": "control.txt"},
		{"path": "script.ps"},
		{"path": "dir"},
		{"path": "none.txt"},
		{"path": "A.TXT"},
		{"path": "dir/y.go"},
		{"path": "no/such/dir"},
		{"path": "a.txt/b"},
		{"path": "~/a.txt"},
		{"path": "a\x00b"},
		{"path": ""},
		{"path": "nul.bin"},
		{"path": "utf16.txt"},
		{"path": "doc.pdf"},
		{"path": "pic.png"},
		{"path": "pic.webp"},
		{"path": "broken.png"},
	} {
		result, err := f.run("read", in)
		fmt.Fprintf(&b, "== %v\n%s", in, result.Output)
		if err != nil {
			fmt.Fprintf(&b, "error: %s", strings.ReplaceAll(err.Error(), f.dir, "/work"))
		}
		b.WriteString("\n")
	}
	golden(t, "read.golden", b.String())
}

func TestReadCutsLongLines(t *testing.T) {
	f := readFixture(t)
	out := f.ok("read", args{"path": "long.txt"}).Output
	if want := "     1\t" + strings.Repeat("é", 1000) +
		" … (line cut, it has 10000 bytes)\n     2\tshort\n"; out != want {
		t.Errorf("got %q", out)
	}
	f.put("odd.txt", "x"+strings.Repeat("é", 5000)) // A rune crosses the limit.
	if out := f.ok("read", args{"path": "odd.txt"}).Output; !utf8.ValidString(out) || strings.Contains(out, "\uFFFD") {
		t.Errorf("a rune was cut: %q", out[len(out)-80:])
	}
}

func TestReadIsBoundedAndSaysHowToGoOn(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d %s\n", i+1, strings.Repeat("x", 100))
	}
	f.put("big.txt", b.String())
	var all strings.Builder
	for offset := 1; ; {
		out := f.ok("read", args{"path": "big.txt", "offset": offset}).Output
		if len(out) > maxReadBytes+200 {
			t.Fatalf("%d bytes at once", len(out))
		}
		for l := range strings.Lines(out) {
			if _, text, ok := strings.Cut(l, "\t"); ok {
				all.WriteString(text)
			}
		}
		i := strings.LastIndex(out, "read on with offset ")
		if i < 0 {
			break
		}
		if _, err := fmt.Sscanf(out[i:], "read on with offset %d", &offset); err != nil {
			t.Fatal(err)
		}
	}
	if all.String() != b.String() {
		t.Error("the pieces are not the whole")
	}
}

// endless is an endless file of lines.
type endless struct {
	text string
	at   int
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.at+i)%len(e.text)]
	}
	e.at = (e.at + len(p)) % len(e.text)
	e.read += int64(len(p))
	return len(p), nil
}

func TestReadOfHugeFileIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := &endless{text: strings.Repeat("x", 79) + "\n"}
	v := newView(10, 5)
	if err := v.scan(r); err != nil {
		t.Fatal(err)
	}
	long := newView(1, 5)
	if err := long.scan(io.LimitReader(&endless{text: "y"}, 100<<20)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
	out, err := v.render("huge")
	if err != nil || v.ended || !strings.Contains(out, "(lines 10-14, more follow; read on with offset 15)") {
		t.Errorf("%v %q", err, out)
	}
	if r.read > maxCountBytes+1<<20 {
		t.Errorf("read %d bytes", r.read)
	}
	if out, err := long.render("long"); err != nil || !strings.Contains(out, "it has 104857600 bytes") {
		t.Errorf("%v %q", err, out)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	v := newView(1, 1)
	if err := v.scan(contextReader{ctx, &endless{text: "x\n"}}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkReadLargeFile(b *testing.B) {
	dir := b.TempDir()
	f := fixtureIn(b, dir)
	content := bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), 50<<20/80)
	if err := os.WriteFile(f.path("large.txt"), content, 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		f.ok("read", args{"path": "large.txt", "offset": 1000, "limit": 100})
	}
}
