package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// repair makes a locked file appendable.
type repair struct {
	path   string
	file   File
	wrap   func(File) File
	size   int64
	opened *Opened
}

// header checks the file's first line, and writes it if it is missing.
func (r *repair) header() error {
	want := header(formatVersion)
	first := make([]byte, min(r.size, int64(2*len(want))))
	if _, err := r.file.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return &AccessError{Path: r.path, Err: err}
	}
	state, version := inspectHeader(first)
	switch state {
	case headerGood:
		return nil
	case headerNewer:
		return &NewerError{Path: r.path, Version: version}
	case headerForeign:
		return &ForeignError{Path: r.path, What: "not a log of settle"}
	case headerDamaged:
		r.opened.Damage = "its first line was damaged and is repaired"
	case headerNone:
		if r.size > 0 {
			if err := r.cut(0, &DamageError{Why: "its beginning was never written"}); err != nil {
				return err
			}
		}
		r.size = int64(len(want))
	}
	if _, err := r.file.WriteAt(want, 0); err != nil {
		return &AccessError{Path: r.path, Err: err}
	}
	return nil
}

// cut saves the bytes after end in another file and truncates the log. The copy is durable
// before the truncation.
func (r *repair) cut(end int64, why error) error {
	kept, err := r.keep(end)
	if err != nil {
		return fmt.Errorf(
			"cannot keep the damaged end of %q: %w; nothing was changed; make room and open the session again", r.path,
			err,
		)
	}
	if err := r.file.Truncate(end); err != nil {
		return &AccessError{Path: r.path, Err: err}
	}
	if err := r.file.Sync(); err != nil {
		return &AccessError{Path: r.path, Err: err}
	}
	damage := (*DamageError)(nil)
	if errors.As(why, &damage) {
		r.opened.Damage = damage.Error()
	}
	r.opened.CutBytes, r.opened.Kept = r.size-end, kept
	r.size = end
	return nil
}

// keep copies the bytes after end to a new file beside the log and returns its path, or "" if
// they are zeros.
func (r *repair) keep(end int64) (string, error) {
	zero, err := onlyZeros(io.NewSectionReader(r.file, end, r.size-end))
	if zero || err != nil {
		return "", err
	}
	return keepBeside(r.path, r.wrap, r.file, end, r.size)
}

// keepBeside durably copies the bytes between the offsets to a new file beside the log, and
// returns its path.
func keepBeside(log string, wrap func(File) File, from File, start, end int64) (string, error) {
	for n := 1; ; n++ {
		path := fmt.Sprintf("%s%s%d", log, tornSuffix, n)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		beside := wrap(diskFile{f})
		_, err = io.Copy(io.NewOffsetWriter(beside, 0), io.NewSectionReader(from, start, end-start))
		err = errors.Join(err, beside.Sync(), beside.SyncName(), beside.Close())
		if err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		return path, nil
	}
}

func onlyZeros(r io.Reader) (bool, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if !allZero(buf[:n]) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
