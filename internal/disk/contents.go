package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MaxContentBytes bounds the stored contents of a session, and the size of one content, in
	// bytes.
	MaxContentBytes = 256 << 20
	maxContent      = 64 << 20
)

// MissingError reports that a content is not stored, or not any more.
type MissingError struct{ SHA256 string }

func (e *MissingError) Error() string { return fmt.Sprintf("the content %.12s is not kept", e.SHA256) }

// ContentStore stores contents. Several goroutines call its methods.
type ContentStore struct {
	dir   string
	limit int64

	mu   sync.Mutex // guards the field below, and removals
	size int64      // of all contents; -1 if unknown
}

// NewContentStore returns the store in a directory, which need not exist; limit bounds its bytes.
func NewContentStore(dir string, limit int64) *ContentStore {
	return &ContentStore{dir: dir, limit: limit, size: -1}
}

// SessionContents returns the store of a session, in the directory of its commands' outputs.
func SessionContents(outputDir string) *ContentStore {
	return NewContentStore(filepath.Join(outputDir, "files"), MaxContentBytes)
}

// Sum returns the name of a content.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// BaseDir is the directory of package changes, beside the contents.
func (s *ContentStore) BaseDir() string { return filepath.Join(s.dir, "base") }

// Keep stores a content durably.
func (s *ContentStore) Keep(content []byte) error { return s.keep(content, ReplaceDurably) }

// KeepUnflushed stores a content that is lost if the machine loses power soon.
func (s *ContentStore) KeepUnflushed(content []byte) error { return s.keep(content, Replace) }

func (s *ContentStore) keep(content []byte, replace func(path string, content []byte) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(s.dir, Sum(content))
	if info, err := os.Lstat(path); err == nil && info.Size() == int64(len(content)) {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // so that the content is not the next to be removed
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("cannot keep what a file contained: %w", err)
	}
	if err := s.makeRoom(int64(len(content))); err != nil {
		return err
	}
	if err := replace(path, content); err != nil {
		return fmt.Errorf("cannot keep what a file contained: %w", err)
	}
	s.size += int64(len(content))
	return nil
}

// makeRoom removes the oldest contents until more bytes fit.
func (s *ContentStore) makeRoom(more int64) error {
	if more > min(s.limit, maxContent) {
		return fmt.Errorf("cannot keep what a file contained: it has %d bytes", more)
	}
	if s.size >= 0 && s.size+more <= s.limit {
		return nil
	}
	kept, err := s.list()
	if err != nil {
		return fmt.Errorf("cannot look what is kept: %w", err)
	}
	s.size = 0
	for _, one := range kept {
		s.size += one.Size()
	}
	slices.SortStableFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, one := range kept {
		if s.size+more <= s.limit {
			break
		}
		if err := os.Remove(filepath.Join(s.dir, one.Name())); err != nil {
			return fmt.Errorf("cannot make room to keep what a file contained: %w", err)
		}
		s.size -= one.Size()
	}
	return nil
}

// isSum reports whether name can be the name of a content.
func isSum(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(name) == name
}

// list returns the stored contents.
func (s *ContentStore) list() ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed meanwhile, or another file
		}
		if isSum(e.Name()) {
			out = append(out, info)
		}
	}
	return out, err
}

// Get returns the content with the hash, or a [MissingError]. A damaged content is missing.
func (s *ContentStore) Get(sum string) ([]byte, error) {
	if !isSum(sum) {
		return nil, &MissingError{sum}
	}
	content, _, err := Read(filepath.Join(s.dir, sum), maxContent+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &MissingError{sum}
	case err != nil:
		return nil, fmt.Errorf("cannot read what a file contained: %w", err)
	case Sum(content) != sum:
		return nil, &MissingError{sum}
	}
	return content, nil
}

// CopyTo copies the contents to another store. If possible, both share the disk space.
func (s *ContentStore) CopyTo(target *ContentStore) error {
	if err := s.copyIntents(target); err != nil {
		return err
	}
	kept, err := s.list()
	if err != nil || len(kept) == 0 {
		return err
	}
	if err := os.MkdirAll(target.dir, 0o700); err != nil {
		return fmt.Errorf("cannot copy what files contained: %w", err)
	}
	for _, one := range kept {
		err := os.Link(filepath.Join(s.dir, one.Name()), filepath.Join(target.dir, one.Name()))
		if err == nil || errors.Is(err, fs.ErrExist) {
			continue
		}
		content, err := s.Get(one.Name())
		if missing := (*MissingError)(nil); errors.As(err, &missing) {
			continue
		}
		if err == nil {
			err = target.Keep(content)
		}
		if err != nil {
			return fmt.Errorf("cannot copy what files contained: %w", err)
		}
	}
	return nil
}
