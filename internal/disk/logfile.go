package disk

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/settle-agent/settle/internal/bound"
)

// maxBytes is the size of the file at which it is rotated.
const maxBytes = 4 << 20

// LogPath returns the path of a data directory's log.
func LogPath(dataDir string) string { return filepath.Join(dataDir, "log", "settle.log") }

// NewLog returns a logger that appends to the file. Each record is one line, which passes
// through mask.
func NewLog(path string, level slog.Level, mask func(string) string) *slog.Logger {
	w := &writer{path: path, mask: mask}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})).With("pid", os.Getpid())
}

// Aloud returns a logger that also writes warnings and errors to w, each as a line that passes
// through mask, up to maxAloud bytes: a pipe without a reader accepts only some data.
func Aloud(l *slog.Logger, w io.Writer, mask func(string) string) *slog.Logger {
	options := slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}}
	return slog.New(
		slog.NewMultiHandler(
			l.Handler(), slog.NewTextHandler(&voice{w: w, mask: mask, room: bound.NewBudget(maxAloud)}, &options),
		),
	)
}

// maxAloud bounds the output of Aloud, in bytes: less than the capacity of any pipe.
const maxAloud = 16 << 10

// voice writes warnings and errors.
type voice struct {
	w    io.Writer
	mask func(string) string
	room bound.Budget // the handler writes one record at a time
}

// Write writes one record. It never fails, because nothing handles the error.
func (v *voice) Write(record []byte) (int, error) {
	line := "settle: " + v.mask(string(record))
	if v.room.Fits(len(line)) {
		_, _ = io.WriteString(v.w, line)
	}
	return len(record), nil
}

// LogLevel returns the level with the name; info for other names.
func LogLevel(name string) slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(name)) != nil {
		return slog.LevelInfo
	}
	return level
}

// writer opens the file at the first record. Several processes append to one file; a record is
// one write.
type writer struct {
	path string
	mask func(string) string

	mu   sync.Mutex
	file *os.File
	dead bool // the file is not writable
}

// Write writes one record. It never fails, because nothing handles the error.
func (w *writer) Write(record []byte) (int, error) {
	line := w.mask(string(record))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || !w.ready() {
		w.dead = true
		return len(record), nil
	}
	_, err := w.file.WriteString(line)
	w.dead = err != nil
	return len(record), nil
}

// ready opens the file, or rotates a full one. Other processes append to it and rotate it too,
// so that ready asks the file system.
func (w *writer) ready() bool {
	if w.file == nil {
		return w.open()
	}
	mine, err := w.file.Stat()
	if err != nil || mine.Size() < maxBytes {
		return err == nil
	}
	there, err := os.Stat(w.path)
	if err == nil && os.SameFile(mine, there) {
		_ = os.Rename(w.path, w.path+".old")
	}
	_ = w.file.Close()
	return w.open()
}

func (w *writer) open() bool {
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return false
	}
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.file = f
	return err == nil
}
