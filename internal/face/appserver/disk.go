package appserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/repo"
)

// disk is the threads that are kept, read beside whoever writes them. Which of
// them are archived, and what clients call them, are files of their own beside
// the sessions.
type disk struct {
	catalogue.Shelf
}

// load returns the state of a session; of a damaged log, what can be read.
func (d *disk) load(id string) (event.State, error) {
	state, _, err := d.Load(id)
	return state, missing(id, err)
}

// missing says in Codex's words, by which clients know it, that there is no
// such thread, or that somebody else has it.
func missing(id string, err error) error {
	var none *journal.MissingError
	var name *journal.NameError
	var held *journal.HeldError
	switch {
	case errors.As(err, &none), errors.As(err, &name):
		return invalid("no rollout found for thread id %s", id)
	case errors.As(err, &held):
		return invalid("thread %s already has an active writer: %v", id, err)
	}
	return err
}

// plain reports whether an id is the name of a file, and of nothing elsewhere.
func plain(id string) bool {
	return id != "" && !strings.ContainsAny(id, `/\`) && !strings.HasPrefix(id, ".")
}

func (d *disk) mark(id string) string { return filepath.Join(d.Dir, "archived", id) }

// mostName bounds a thread's name in bytes.
const mostName = 4 << 10

// name returns what clients call the thread, or "".
func (d *disk) name(id string) string {
	if !plain(id) {
		return ""
	}
	name, _, err := repo.ReadFile(filepath.Join(d.Dir, "names", id), mostName)
	if err != nil {
		return ""
	}
	return string(name)
}

// rename has the thread be called by the name.
func (d *disk) rename(id, name string) error {
	path := filepath.Join(d.Dir, "names", id)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(name), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot name thread %q: %w", id, err)
	}
	return nil
}

// archived reports whether the thread is archived.
func (d *disk) archived(id string) bool {
	info, err := os.Stat(d.mark(id))
	return plain(id) && err == nil && info.Mode().IsRegular()
}

// archive marks a thread that is there.
func (d *disk) archive(id string) error {
	if err := os.MkdirAll(filepath.Dir(d.mark(id)), 0o700); err != nil {
		return fmt.Errorf("cannot archive thread %q: %w", id, err)
	}
	if err := os.WriteFile(d.mark(id), nil, 0o600); err != nil {
		return fmt.Errorf("cannot archive thread %q: %w", id, err)
	}
	return nil
}

func (d *disk) unarchive(id string) error {
	if err := os.Remove(d.mark(id)); err != nil {
		return fmt.Errorf("cannot bring thread %q back: %w", id, err)
	}
	return nil
}

// Forget removes what is kept of a thread beside its session: its name, and that
// it is archived.
func Forget(dataDir, id string) error {
	if !plain(id) {
		return nil
	}
	d := &disk{catalogue.Shelf{Dir: dataDir}}
	var errs []error
	for _, path := range []string{d.mark(id), filepath.Join(d.Dir, "names", id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("cannot forget thread %q: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// path is where a thread's log is.
func (d *disk) path(id string) string { return filepath.Join(d.Dir, "sessions", id+".log") }
