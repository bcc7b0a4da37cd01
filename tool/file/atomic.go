package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/safefile"
)

// tempPattern names temporary files so that people and recovery know them.
const tempPattern = ".settle-*.tmp"

// staged is new content that lies ready beside the file that it replaces.
type staged struct {
	*snapshot
	content []byte
	temp    string // "": the editor writes it
}

// stage writes content to a synced temporary file beside the file. The file
// itself is not touched. A new file has the mode of like, if that is not nil.
// Whoever stages commits or discards.
func stage(s *snapshot, content []byte, like fs.FileInfo) (*staged, error) {
	if s.exists() && s.info.Mode()&0o222 == 0 {
		return nil, fmt.Errorf("%q is read-only (mode %04o); nothing was written. Change its mode first if that is wanted", s.shown, s.info.Mode().Perm())
	}
	if s.exists() {
		like = s.info
	}
	dir := filepath.Dir(s.real)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot create the directory of %q: %w", s.shown, err)
	}
	s.keepData()
	if s.put != nil && textual(content) {
		return &staged{snapshot: s, content: content}, nil
	}
	temp, err := s.writeTemp(dir, like, content)
	if err != nil {
		return nil, fmt.Errorf("cannot write %q: %w; nothing was changed", s.shown, err)
	}
	return &staged{snapshot: s, content: content, temp: temp}, nil
}

// writeTemp creates the temporary file with the mode and owner of like, or
// those of a new file if like is nil, and removes it if anything fails.
func (s *snapshot) writeTemp(dir string, like fs.FileInfo, content []byte) (path string, err error) {
	f, err := createTemp(dir, like)
	if err != nil {
		return "", err
	}
	path = f.Name()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if _, err = f.Write(content); err == nil && like != nil {
		err = keepMode(f, like)
	}
	if err == nil {
		err = s.sync(path, f.Sync)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return path, err
}

// createTemp makes a file that did not exist. A new file gets the mode that
// the umask leaves; what will get another's mode is private until then.
func createTemp(dir string, like fs.FileInfo) (*os.File, error) {
	mode := fs.FileMode(0o666)
	if like != nil {
		mode = 0o600
	}
	for {
		name := strings.Replace(tempPattern, "*", strconv.FormatUint(rand.Uint64(), 36), 1)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// keepMode gives the new file the old one's owner and mode. The owner cannot
// always be kept; then the set-id bits, which speak of it, are dropped.
func keepMode(f *os.File, like fs.FileInfo) error {
	mode := like.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	if !keepOwner(f, like) {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	return f.Chmod(mode)
}

// commit puts the new content in the file's place, unless the file is not the
// one any more that was loaded. On failure the file is as it was.
func (s *staged) commit() error {
	if err := s.unchanged(); err != nil {
		return err
	}
	if s.temp == "" {
		return s.put(s.content)
	}
	if err := os.Rename(s.temp, s.real); err != nil {
		return fmt.Errorf("cannot replace %q: %w; it is as it was", s.shown, err)
	}
	s.temp = ""
	dir := filepath.Dir(s.real)
	if err := s.sync(dir, func() error { return safefile.SyncDir(dir) }); err != nil {
		return fmt.Errorf("wrote %q, but cannot sync its directory: %w; a power failure could undo it", s.shown, err)
	}
	return nil
}

// discard removes the temporary file of what was not committed.
func (s *staged) discard() error {
	if s.temp == "" {
		return nil
	}
	err := os.Remove(s.temp)
	s.temp = ""
	return err
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
