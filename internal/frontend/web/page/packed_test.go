package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestPacked: the binary and the folder assets contain the same files.
func TestPacked(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("assets", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	files := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = string(data)
	}
	if *update {
		write(t, files)
		return
	}
	got, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, files) {
		t.Error(
			"assets.json.gz is stale; pack the files anew: go test ./internal/frontend/web/page -run TestPacked -update",
		)
	}
}

func write(t *testing.T, files map[string]string) {
	t.Helper()
	text, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("assets.json.gz", out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
