//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/journal"
)

// A start removes the empty files of killed hosts. It keeps files with output, and the files of
// hosts that run or have just begun.
func TestStartRemovesFilesOfKilledHosts(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	dir, _ := hostLogs(dataDir, "")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	running, _, err := journal.Open(t.Context(), journal.Options{Dir: dataDir, Session: "runs"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := running.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	old := time.Now().Add(-time.Hour)
	for name, text := range map[string]string{
		"detached-dead-1.log": "", "detached-dead-2.log": "panic", "detached-runs-3.log": "", "detached-new-4.log": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "detached-new-4.log" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, err := hostLog(dataDir, "next")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != filepath.Base(log.Name()) {
			left = append(left, e.Name())
		}
	}
	want := []string{"detached-dead-2.log", "detached-new-4.log", "detached-runs-3.log"}
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("%v; %q are left, want %q", err, left, want)
	}
}
