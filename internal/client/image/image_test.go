package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error names the file that is not an image or not a file.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	png := filepath.Join(dir, "picture")
	text := filepath.Join(dir, "text.png")
	for path, content := range map[string]string{png: "\x89PNG\x0D\x0A\x1A\x0Aand so on", text: "no picture"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(png)
	if err != nil || got.MediaType != "image/png" || got.Name != "picture" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, path := range []string{text, dir, filepath.Join(dir, "missing")} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDecode(t *testing.T) {
	got, err := Decode("data:image/png;charset=x;base64,aGk=")
	if err != nil || got.MediaType != "image/png" || string(got.Data) != "hi" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, url := range []string{
		"https://example.org/x.png", "image/png;base64,aGk=", "data:image/png,aGk=", "data:image/png;base64,!",
		"data:image/png;base64,", "data:image/tiff;base64,aGk=", "data:x", "",
	} {
		if got, err := Decode(url); err == nil {
			t.Errorf("%q: %+v", url, got)
		}
	}
}

// A text that mentions the mark of PDFs is neither a PDF nor an image.
func TestAddRefusesTextWithMarkOfPDFs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.txt")
	if err := os.WriteFile(path, []byte("a line\n%PDF- begins a PDF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var a Attached
	if err := a.Add(path); err == nil || len(a.Documents) > 0 {
		t.Errorf("got %v, %v", err, a)
	}
}
