package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/disk"
)

// staged is new content, ready to replace the file beside it.
type staged struct {
	*snapshot
	content []byte
	temp    string // name of the temporary file; "" if the editor writes the file
}

// stage writes content to a synced temporary file beside the file, and does not change the
// file itself. A new file has the mode of like, if that is not nil. The caller must commit
// or discard.
func stage(s *snapshot, content []byte, like fs.FileInfo) (*staged, error) {
	if s.exists() && s.info.Mode()&0o222 == 0 {
		return nil, fmt.Errorf(
			"%q is read-only (mode %04o); nothing was written. Change its mode first if that is wanted", s.Shown,
			s.info.Mode().Perm(),
		)
	}
	if s.exists() {
		like = s.info
	}
	if s.dir == nil {
		dir, made, err := s.MakeDir()
		s.made = made
		if err != nil {
			s.removeMade()
			return nil, fmt.Errorf("cannot create the directory of %q: %w", s.Shown, err)
		}
		s.dir = dir
	}
	s.keepData()
	if s.put != nil && textual(content) {
		return &staged{snapshot: s, content: content}, nil
	}
	temp, err := s.writeTemp(like, content)
	if err != nil {
		s.removeMade()
		return nil, fmt.Errorf("cannot write %q: %w; nothing was changed", s.Shown, err)
	}
	return &staged{snapshot: s, content: content, temp: temp}, nil
}

// writeTemp creates the temporary file with the mode and owner of like, or of a new file if
// like is nil, and removes it on failure.
func (s *snapshot) writeTemp(like fs.FileInfo, content []byte) (name string, err error) {
	f, name, err := createTemp(s.dir, like)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.dir.Remove(name))
		}
	}()
	if _, err = f.Write(content); err == nil && like != nil {
		err = disk.KeepMode(f, like, like.Mode())
	}
	if err == nil {
		err = s.sync(filepath.Join(s.dir.Path(), name), f.Sync)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return name, err
}

// createTemp creates a new file. Without a mode to copy, the umask decides its mode;
// otherwise it is private until disk.KeepMode.
func createTemp(dir *disk.Dir, like fs.FileInfo) (f *os.File, name string, err error) {
	mode := fs.FileMode(0o666)
	if like != nil {
		mode = 0o600
	}
	name = disk.TempName()
	f, err = dir.Create(name, mode)
	return f, name, err
}

// commit replaces the file by the new content, unless the file is no longer the loaded one.
// On failure the file is unchanged.
func (s *staged) commit() error {
	if err := s.unchanged(); err != nil {
		return err
	}
	if s.temp == "" {
		return s.put(s.content)
	}
	if err := s.dir.Rename(s.temp, s.Base()); err != nil {
		return fmt.Errorf("cannot replace %q: %w; it is as it was", s.Shown, err)
	}
	s.temp = ""
	if err := s.sync(s.dir.Path(), s.dir.Sync); err != nil {
		return fmt.Errorf("wrote %q, but cannot sync its directory: %w; a power failure could undo it", s.Shown, err)
	}
	return nil
}

// discard removes a temporary file that was not committed, and the directories that it needed.
func (s *staged) discard() error {
	if s.temp == "" {
		return nil
	}
	err := s.dir.Remove(s.temp)
	s.temp = ""
	s.removeMade()
	return err
}

// removeMade removes the directories that the call created, if they are empty.
func (s *snapshot) removeMade() {
	for _, path := range slices.Backward(s.made) {
		if err := disk.RemoveEmptyDir(path); err != nil {
			return // it has something else by now
		}
	}
}

// replace stages and commits one file.
func replace(ctx context.Context, s *snapshot, content []byte) (err error) {
	st, err := stage(s, content, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.discard()) }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return st.commit()
}
