package shell

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/redact"
)

func TestLongOutput(t *testing.T) {
	r := newRoom(t, func(c *Config) { c.OutputBytes = 1000 })
	got := r.sh("seq 1 10000")
	if !strings.HasPrefix(got.Output, "1\n2\n") || !strings.Contains(got.Output, "bytes are left out here") ||
		!strings.Contains(got.Output, "\n10000\n[the whole output, 48894 bytes, is in "+got.OutputFile+"]") {
		t.Errorf("output %q", got.Output)
	}
	if len(got.Output) > 1400 || got.OutputBytes != 48894 {
		t.Errorf("%d bytes of %d", len(got.Output), got.OutputBytes)
	}
	whole, err := os.ReadFile(got.OutputFile)
	if err != nil || len(whole) != 48894 || !strings.HasSuffix(string(whole), "9999\n10000\n") {
		t.Errorf("the file has %d bytes: %v", len(whole), err)
	}
}

// The file stops at its limit without an effect on the command.
func TestSpoolCap(t *testing.T) {
	r := newRoom(t, func(c *Config) { c.OutputBytes, c.SpoolBytes = 1000, 5000 })
	got := r.sh("seq 1 10000")
	if got.Failed || !strings.Contains(got.Output, "the first of them are in "+got.OutputFile) {
		t.Errorf("got %+v", got)
	}
	if stat, err := os.Stat(got.OutputFile); err != nil || stat.Size() != 5000 {
		t.Errorf("the file: %v, %v", stat, err)
	}
}

// If the directory cannot be written, the call has no file, and succeeds.
func TestSpoolFails(t *testing.T) {
	r := newRoom(t, func(c *Config) { c.OutputBytes, c.SpoolDir = 1000, "/dev/null/spool" })
	got := r.sh("seq 1 10000")
	if got.Failed || got.OutputFile != "" || !strings.Contains(got.Output, "could not be kept") ||
		!strings.Contains(got.Output, "\n10000\n") {
		t.Errorf("got %+v", got)
	}
}

// A call's memory does not grow with its output.
func TestOutputMemory(t *testing.T) {
	r := newRoom(t, func(c *Config) { c.SpoolBytes = 1 << 20 })
	cost := func(bytes string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := r.sh("head -c " + bytes + " /dev/zero | tr '\\0' x")
		runtime.ReadMemStats(&after)
		if got.Failed {
			t.Fatalf("got %+v", got)
		}
		return after.HeapSys - min(before.HeapSys, after.HeapSys)
	}
	cost("1000000")
	if grown := cost("64000000"); grown > 16<<20 {
		t.Errorf("64 MB of output took %d bytes more memory", grown)
	}
}

// C15: no file contains a known secret, also if the command writes it in pieces.
func TestKeptOutputIsMasked(t *testing.T) {
	const key = "sk-0123456789abcdefghij"
	masked := func(c *Config) {
		c.OutputBytes = 1000
		c.Mask = func() Masker { return redact.New(key).Stream() }
	}
	pieces := "seq 1 1000; printf sk-01234; sleep 0.1; printf 56789abc; sleep 0.1; printf 'defghij\\n'; seq 1 1000; printf sk-0123"
	check := func(t *testing.T, r *room, said, path string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "56789abc") || !strings.Contains(string(text), "1000\n"+redact.Mask+"\n1\n") {
			t.Errorf("the file has %q", text[max(len(text)-5000, 0):])
		}
		if !strings.HasSuffix(string(text), "1000\nsk-0123") {
			t.Errorf("the file ends with %q", text[len(text)-20:])
		}
		if strings.Contains(said, "56789abc") {
			t.Errorf("the model is told %q", said)
		}
	}
	t.Run("a call", func(t *testing.T) {
		r := newRoom(t, masked)
		got := r.sh(pieces)
		check(t, r, got.Output, got.OutputFile)
		stat, err := os.Stat(got.OutputFile)
		if err != nil || got.OutputBytes != stat.Size() {
			t.Errorf("%d bytes, the file: %v, %v", got.OutputBytes, stat.Size(), err)
		}
	})
	t.Run("a job", func(t *testing.T) {
		r := newRoom(t, masked)
		r.run(t.Context(), "shell", object{"command": "sleep 0.6; " + pieces, "background": true})
		job := r.jobs.List()[0]
		got := r.run(t.Context(), "job", object{"action": "wait", "job": job.ID, "timeout_ms": 20000})
		check(t, r, got.Output, job.Log)
	})
}
