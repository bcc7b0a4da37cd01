package proc

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestFindBlock: the block has the arguments and the environment that other processes read in
// /proc.
func TestFindBlock(t *testing.T) {
	b, err := FindBlock()
	if err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string][]byte{"cmdline": b.Args, "environ": b.Environ} {
		want, err := os.ReadFile("/proc/self/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}

// Go's own environment is a copy: settle keeps its keys when the block loses
// them.
func TestEnvironmentIsACopy(t *testing.T) {
	b, err := FindBlock()
	if err != nil || len(b.Environ) == 0 {
		t.Fatal(len(b.Environ), err)
	}
	before := strings.Join(os.Environ(), "\n")
	kept := bytes.Clone(b.Environ)
	defer copy(b.Environ, kept)
	for i := range b.Environ {
		b.Environ[i] = '*'
	}
	if seen, _ := os.ReadFile("/proc/self/environ"); len(bytes.Trim(seen, "*\x00")) > 0 {
		t.Errorf("others still see %q", seen)
	}
	if after := strings.Join(os.Environ(), "\n"); after != before {
		t.Error("os.Environ changed")
	}
}

func BenchmarkFindBlock(b *testing.B) {
	for b.Loop() {
		if _, err := FindBlock(); err != nil {
			b.Fatal(err)
		}
	}
}
