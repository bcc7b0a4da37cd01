package disk

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Replace replaces the content of a file atomically: readers find the old or the new content.
// The file's mode is 0600; its directory must exist.
func Replace(path string, content []byte) error {
	return replace(path, content, func(*os.File) error { return nil })
}

// ReplaceDurably is Replace with a durable result.
func ReplaceDurably(path string, content []byte) error {
	if err := replace(path, content, (*os.File).Sync); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// ReplaceProgram is ReplaceDurably for a program that all users can run. A process that runs the
// old program continues with it.
func ReplaceProgram(path string, program []byte) error {
	return replace(path, program, func(f *os.File) error { return errors.Join(f.Chmod(0o755), f.Sync()) })
}

// TempName returns a new name for a temporary file that replaces another one in its directory.
func TempName() string { return ".settle-" + strconv.FormatUint(rand.Uint64(), 36) + ".tmp" }

// IsTempName reports whether [TempName] can have returned the name.
func IsTempName(name string) bool {
	return strings.HasPrefix(name, ".settle-") && strings.HasSuffix(name, ".tmp")
}

func replace(path string, content []byte, sync func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
