package disk

import (
	"errors"
	"os"
	"path/filepath"
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
