package disk_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRecordsAreMaskedAndPrivate(t *testing.T) {
	path := disk.LogPath(t.TempDir())
	log := disk.NewLog(
		path,
		slog.LevelInfo,
		func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") },
	)
	log.Debug("too quiet")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there before the first record: %v", err)
	}
	log.Info("the password is hunter2", "also", "hunter2")
	text := readText(t, path)
	if strings.Contains(text, "hunter2") || strings.Contains(text, "quiet") || strings.Count(text, "***") != 2 {
		t.Errorf("log: %s", text)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v; want 0600", info.Mode(), err)
	}
}

func TestSizeIsBounded(t *testing.T) {
	path := disk.LogPath(t.TempDir())
	same := func(text string) string { return text }
	one, other := disk.NewLog(path, slog.LevelInfo, same), disk.NewLog(path, slog.LevelInfo, same)
	for range 24 {
		one.Info(strings.Repeat("x", 256<<10))
		other.Info(strings.Repeat("y", 256<<10))
	}
	var total int64
	for _, name := range []string{path, path + ".old"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if limit := int64(10 << 20); total > limit {
		t.Errorf("the log takes %d bytes, want at most %d", total, limit)
	}
}

func TestRecordsOfLogThatCannotBeWrittenAreDropped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := disk.NewLog(disk.LogPath(dir), slog.LevelInfo, func(text string) string { return text })
	if err := log.Handler().Handle(t.Context(), slog.Record{Message: "lost"}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(dir); len(text) > 0 || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestLevel(t *testing.T) {
	for name, want := range map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError, "": slog.LevelInfo} {
		if got := disk.LogLevel(name); got != want {
			t.Errorf("Level(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestAloud(t *testing.T) {
	path := disk.LogPath(t.TempDir())
	var out strings.Builder
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	log := disk.Aloud(disk.NewLog(path, slog.LevelInfo, mask), &out, mask).With("session", "s")
	log.Info("all is well")
	log.Error("nothing is well", "error", "no hunter2 left")
	if want := `settle: msg="nothing is well" session=s error="no *** left"` + "\n"; out.String() != want {
		t.Errorf("said %q, want %q", out.String(), want)
	}
	if text := readText(t, path); !strings.Contains(text, "all is well") || !strings.Contains(text, "nothing is well") {
		t.Errorf("log: %s", text)
	}
	for range 1000 {
		log.Error(strings.Repeat("x", 100))
	}
	if most := 16 << 10; out.Len() > most {
		t.Errorf("%d bytes were said, more than %d", out.Len(), most)
	}
}
