//go:build recordings

package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// recording is a response that a real server streamed.
type recording struct {
	ID     string `json:"id"`
	Wire   string `json:"wire"`
	Server string `json:"server"`
	Model  string `json:"model"`

	body []byte
	next []byte // the request that the recorded client sent next; nil if none
}

// folder returns where the recordings are.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SETTLE_RECORDINGS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "recordings")
	}
	if _, err := os.Stat(filepath.Join(dir, "index.jsonl")); err != nil {
		t.Fatalf("no recordings: set SETTLE_RECORDINGS to their folder: %v", err)
	}
	return dir
}

// recordings returns the recordings of streams.
func recordings(t *testing.T) []recording {
	t.Helper()
	dir := folder(t)
	all := append(indexed(t, dir), indexed(t, filepath.Join(dir, "gemini"))...)
	if len(all) < 250 {
		t.Fatalf("%d recordings, want at least 250", len(all))
	}
	return all
}

// indexed returns the recordings that a folder's index names and that are streams.
func indexed(t *testing.T, dir string) []recording {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	lines := bufio.NewScanner(bytes.NewReader(index))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.body, err = os.ReadFile(filepath.Join(dir, r.ID+".sse")); err != nil {
			if r.Wire == "gemini" {
				continue // it was not streamed
			}
			t.Fatal(err)
		}
		r.next, _ = os.ReadFile(filepath.Join(dir, r.ID+".next.json")) // most have none
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// refusal is a recorded answer with an error status.
type refusal struct {
	Path   string `json:"path"`
	Wire   string `json:"wire"`
	Server string `json:"server"`
	Status int    `json:"status"`
	Type   string `json:"ct"`
	Body   string `json:"body"`
}

func refusals(t *testing.T) []refusal {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(t), "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []refusal
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
