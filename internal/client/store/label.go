package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// MaxName bounds a session's name in bytes.
const MaxName = 4 << 10

// isPlain reports whether an id is the name of a file, and of nothing elsewhere.
func isPlain(session string) bool {
	return session != "" && !strings.ContainsAny(session, `/\`) && !strings.HasPrefix(session, ".")
}

func label(dataDir, session string) string { return filepath.Join(dataDir, "names", session) }
func mark(dataDir, session string) string  { return filepath.Join(dataDir, "archived", session) }

// Name returns the client's name of the session, or "".
func Name(dataDir, session string) string {
	if !isPlain(session) {
		return ""
	}
	name, _, err := disk.Read(label(dataDir, session), MaxName)
	if err != nil {
		return ""
	}
	return string(name)
}

// Rename has a session that exists be called by the name.
func Rename(dataDir, session, name string) error {
	if err := write(label(dataDir, session), name); err != nil {
		return fmt.Errorf("cannot name session %q: %w", session, err)
	}
	return nil
}

// IsArchived reports whether the session is put away.
func IsArchived(dataDir, session string) bool {
	info, err := os.Stat(mark(dataDir, session))
	return isPlain(session) && err == nil && info.Mode().IsRegular()
}

// Archive puts a session away that exists.
func Archive(dataDir, session string) error {
	if err := write(mark(dataDir, session), ""); err != nil {
		return fmt.Errorf("cannot archive session %q: %w", session, err)
	}
	return nil
}

// Unarchive brings a session back.
func Unarchive(dataDir, session string) error {
	if err := os.Remove(mark(dataDir, session)); err != nil {
		return fmt.Errorf("cannot bring session %q back: %w", session, err)
	}
	return nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
