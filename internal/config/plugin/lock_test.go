package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// staged stages the content of a folder as the plugin demo.
func staged(t *testing.T, s Store, source string) Plugin {
	t.Helper()
	p, err := s.Stage(t.Context(), Record{Name: "demo", Source: source}, mustRead(t, source))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A refusal removes only a copy that its own command wrote: open sessions use earlier ones.
func TestUnstageKeepsCopyOfEarlierVersion(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "1"})
	s, first := added(t, source)
	files(t, source, map[string]string{"a": "2"})
	second := staged(t, s, source)
	if err := s.Record(t.Context(), second.Record); err != nil {
		t.Fatal(err)
	}
	files(t, source, map[string]string{"a": "1"})
	aged(t, s, first.Record, 48*time.Hour)
	back := staged(t, s, source)
	if err := s.Prune(t.Context(), "demo", time.Hour); err != nil {
		t.Error(err)
	}
	if now := s.Open(back.Record); now.Problem != "" {
		t.Errorf("the copy is gone while the user decides: %s", now.Problem)
	}
	if err := s.Unstage(t.Context(), back); err != nil || first.Check() != nil {
		t.Errorf("%v: open sessions lost their copy: %v", err, first.Check())
	}
	files(t, source, map[string]string{"a": "3"})
	third := staged(t, s, source)
	if err := s.Unstage(t.Context(), third); err != nil || s.Open(third.Record).Problem == "" {
		t.Errorf("%v: the refused copy stays", err)
	}
}

// Another settle can change the plugins while the user decides.
func TestRecordChecksWhatChangedMeanwhile(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "1"})
	s, _ := added(t, source)
	files(t, source, map[string]string{"a": "2"})
	mine, other := staged(t, s, source), staged(t, s, source)
	if err := s.Enable(t.Context(), "demo", false); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), other.Record); err != nil || !listed(t, s).Disabled {
		t.Errorf("%v: the plugin is enabled again", err)
	}
	if err := s.Unstage(t.Context(), mine); err != nil || listed(t, s).Problem != "" {
		t.Errorf("%v: a trusted copy was unstaged: %s", err, listed(t, s).Problem)
	}
	files(t, source, map[string]string{"a": "3"})
	mine, other = staged(t, s, source), staged(t, s, source)
	if err := s.Unstage(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), other.Record); err == nil ||
		!strings.Contains(err.Error(), "run the command again") {
		t.Errorf("a plugin without a copy is recorded: %v", err)
	}
	if now := listed(t, s); now.Problem != "" {
		t.Errorf("the earlier record is lost: %s", now.Problem)
	}
	mine = staged(t, s, source)
	if err := s.Remove(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), mine.Record); err == nil {
		t.Error("a plugin without a copy is recorded")
	}
}

func TestChangesWaitForTheLock(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "1"})
	s, p := added(t, source)
	for hold, fails := range map[time.Duration]bool{lockTimeout / 3: false, 2 * lockTimeout: true} {
		synctest.Test(t, func(t *testing.T) {
			lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if free, err := disk.TryLock(lock); err != nil || !free {
				t.Fatalf("the lock is not free: %v", err)
			}
			time.AfterFunc(hold, func() { _ = lock.Close() })
			if err := s.Record(t.Context(), p.Record); (err != nil) != fails {
				t.Errorf("held for %v: %v", hold, err)
			}
			time.Sleep(2 * hold) // until it is closed
		})
	}
	synctest.Test(t, func(t *testing.T) {
		lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Record(ctx, p.Record); err != nil {
			t.Errorf("the lock is free: %v", err)
		}
		if free, err := disk.TryLock(lock); err != nil || !free {
			t.Fatalf("the lock is not free: %v", err)
		}
		began := time.Now()
		if err := s.Record(ctx, p.Record); !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	})
}
