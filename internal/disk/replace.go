package disk

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace gives a file its content as a whole: whoever reads it finds what was there
// before, or all of the new. It is for the user alone (0600), in a directory that
// exists.
func Replace(path string, content []byte) error {
	return replace(path, content, func(*os.File) error { return nil })
}

// ReplaceDurably is Replace, and the content is on stable storage when it returns.
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
