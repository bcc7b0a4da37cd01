//go:build machine

package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The Linux binary of the README and of make install is static and stripped, so that it runs in any
// container and meets the budget of its size.
func TestInstalledBinaryIsStatic(t *testing.T) {
	const maxSize = 40 << 20
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^\s*(CGO_ENABLED=0) go install (.*) \./cmd/settle(?:\s+#.*)?$`)
	fromReadme, fromMake := command.FindStringSubmatch(string(readme)), command.FindStringSubmatch(string(makefile))
	if fromReadme == nil || fromMake == nil || fromReadme[2] != fromMake[2] {
		t.Fatalf("README.md installs with %q, the Makefile with %q", fromReadme, fromMake)
	}
	path := filepath.Join(t.TempDir(), "settle")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "go build -o "+path+" "+fromReadme[2]+" ./cmd/settle")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), fromReadme[1], "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	static(t, path)
	if info, err := os.Stat(path); err != nil || info.Size() > maxSize {
		t.Errorf("%v, %d bytes; at most %d", err, info.Size(), maxSize)
	}
}

// static checks that a binary needs no loader and no library, and has neither
// symbols nor debugging information.
func static(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %s", p.Type)
		}
	}
	for _, s := range f.Sections {
		if s.Name == ".symtab" || strings.Contains(s.Name, "debug_") {
			t.Errorf("it has a section %s", s.Name)
		}
	}
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %q, %v", libraries, err)
	}
}
