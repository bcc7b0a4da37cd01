package settle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// kept makes a closed session with one turn.
func kept(t *testing.T, dir, id string) {
	t.Helper()
	m := model.Config{Provider: script.New(script.Text("done"))}
	s := newSession(t, newHost(t, dir, settle.SessionConfig{Model: m}), id)
	turn, err := s.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	store := settle.Store{Dir: dir}
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Errorf("before there is any: %v, %v", list, err)
	}
	kept(t, dir, "a")
	kept(t, dir, "b")
	list, err := store.List()
	if err != nil || len(list) != 2 || list[0].ID != "a" || list[1].Size == 0 || list[1].Updated.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	state, err := store.State("a")
	if err != nil || len(state.Turns) != 1 || state.Turns[0].Answer() != "done" {
		t.Errorf("%+v, %v", state.Turns, err)
	}
	var kinds []event.Kind
	for e, err := range store.Events(t.Context(), "a", 1) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Kind())
	}
	if kinds[0] != event.KindInputAccepted || kinds[len(kinds)-1] != event.KindSessionClosed {
		t.Errorf("kinds %v", kinds)
	}
	if err := os.MkdirAll(store.OutputDir("a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(store.OutputDir("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outputs are left: %v", err)
	}
	var missing *settle.MissingError
	if _, err := store.State("a"); !errors.As(err, &missing) || missing.Session != "a" ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted, and yet: %v", err)
	}
	if list, err := store.List(); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Errors of opening, reading and deleting a session have types.
func TestStoreErrorsAreTyped(t *testing.T) {
	dir := t.TempDir()
	store := settle.Store{Dir: dir}
	path := filepath.Join(dir, "sessions", "s.log")
	change := func(f func([]byte) []byte) {
		t.Helper()
		log, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, f(log), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func() (err error) {
		host := newHost(t, dir, settle.SessionConfig{})
		_, err = host.Session(t.Context(), "s", host.config)
		return err
	}
	t.Run("held", func(t *testing.T) {
		host := newHost(t, dir, settle.SessionConfig{})
		s := newSession(t, host, "s")
		var locked *settle.LockedError
		if err := open(); !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Session != "s" {
			t.Errorf("opened elsewhere: %v", err)
		}
		locked = nil
		if err := store.Delete(t.Context(), "s"); !errors.As(err, &locked) {
			t.Errorf("deleted: %v", err)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	kept(t, dir, "s")
	t.Run("damaged", func(t *testing.T) {
		change(func(log []byte) []byte {
			lines := bytes.SplitAfter(log, []byte("\n"))
			lines[3] = bytes.Replace(lines[3], []byte(`"seq":3`), []byte(`"seq":7`), 1)
			return bytes.Join(lines, nil)
		})
		var damaged *settle.DamagedError
		state, err := store.State("s")
		if !errors.As(err, &damaged) || damaged.Offset <= 0 || state.Seq != 2 {
			t.Errorf("state of %d events: %v", state.Seq, err)
		}
		var last error
		for _, last = range store.Events(t.Context(), "s", 0) { // the last one counts
		}
		damaged = nil
		if !errors.As(last, &damaged) {
			t.Errorf("events: %v", last)
		}
	})
	t.Run("newer", func(t *testing.T) {
		change(func(log []byte) []byte {
			_, rest, _ := bytes.Cut(log, []byte("\n"))
			first := []byte("settle-log 9 ")
			first = fmt.Appendf(first, "%08x\n", crc32.Checksum(first, crc32.MakeTable(crc32.Castagnoli)))
			return append(first, rest...)
		})
		var newer *settle.NewerError
		if err := open(); !errors.As(err, &newer) || newer.Version <= event.Version {
			t.Errorf("opened: %v", err)
		}
	})
	t.Run("something else", func(t *testing.T) {
		change(func([]byte) []byte { return []byte("a letter to somebody, and nothing of settle's\n") })
		var damaged *settle.DamagedError
		if err := open(); !errors.As(err, &damaged) || damaged.Offset != -1 {
			t.Errorf("opened: %v", err)
		}
	})
}

// A session that must exist is not created.
func TestMustExist(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		host := newHost(t, dir, settle.SessionConfig{MustExist: true})
		var missing *settle.MissingError
		if _, err := host.Session(t.Context(), "s", host.config); !errors.As(err, &missing) || missing.Session != "s" {
			t.Errorf("%v", err)
		}
		if dir == "" {
			continue
		}
		kept(t, dir, "s")
		if s := newSession(t, host, "s"); len(s.State().Turns) != 1 {
			t.Errorf("it has %d turns", len(s.State().Turns))
		}
	}
}
