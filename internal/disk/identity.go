package disk

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Identify returns a text that identifies an entry of an open folder, empty if there is none, by its
// kind, its rights, and the target of a link or the content of a regular file. It follows no link and
// never blocks. A file that it cannot read, or with more than limit bytes, is identified by its size and
// the times of its last changes, which no process can set all: each change of such a file counts.
// content, if it is not nil, receives the content; read is the number of its bytes.
func Identify(dir *os.Root, name string, limit int64, content io.Writer) (id string, read int64) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return "", 0
	case err != nil:
		return unidentified(), 0
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := dir.Readlink(name)
		if err != nil {
			return unidentified(), 0
		}
		return fmt.Sprintf("%v to %s", info.Mode(), target), 0
	case !info.Mode().IsRegular():
		return info.Mode().String(), 0
	}
	sum := sha256.New()
	into := io.Writer(sum)
	if content != nil {
		into = io.MultiWriter(sum, content)
	}
	if info.Size() <= limit {
		read, err = copyFile(into, dir, name, info, limit)
		if err == nil {
			return fmt.Sprintf("%v %x", info.Mode(), sum.Sum(nil)), read
		}
	}
	return fmt.Sprintf("%v %d %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano(),
		ChangeTime(info).UnixNano()), read
}

// IdentifyPath identifies the entry at a path as [Identify] does. Links above its last name are followed.
func IdentifyPath(path string, limit int64) string {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return unidentified()
	}
	defer func() { _ = dir.Close() }() // it was only read
	id, _ := Identify(dir, filepath.Base(path), limit, nil)
	return id
}

// unidentified is different from every other identity.
func unidentified() string { return "unidentified " + rand.Text() }

// copyFile copies the content of the regular file that was described.
func copyFile(into io.Writer, dir *os.Root, name string, was fs.FileInfo, limit int64) (n int64, err error) {
	file, err := dir.OpenFile(name, os.O_RDONLY|NonBlocking, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if is, err := file.Stat(); err != nil || !os.SameFile(was, is) {
		return 0, errors.Join(fs.ErrNotExist, err)
	}
	n, err = io.Copy(into, io.LimitReader(file, limit+1))
	if err == nil && n > limit {
		err = &TooLargeError{Path: name, Max: limit}
	}
	return n, err
}
