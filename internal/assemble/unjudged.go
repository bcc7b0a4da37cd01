package assemble

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo/quarantine"
)

// unjudgedRecord records that sandboxed commands work in a directory and that the files that they
// leave are not judged yet. It is a file of the data directory, which its session locks and then
// removes. A file without a lock is of a session that was killed or that left a command.
type unjudgedRecord struct {
	Dir string `json:"dir"`
	quarantine.Unjudged
	// Noted reports that the user has received a note about the files.
	Noted bool `json:"noted,omitempty"`
	// Markers are the markers of the sessions whose commands may still run.
	Markers []string `json:"markers"`
}

// unjudged is the record of one session. The zero value records nothing.
type unjudged struct {
	folder, dir, marker string

	mu     sync.Mutex // guards the fields below
	file   *os.File   // locked; nil before the first command
	record unjudgedRecord
	// earlier has the records that earlier sessions left; nil for none.
	earlier *quarantine.Unjudged
}

// newUnjudged returns the record of a session; without a data directory or a marker, it
// records nothing.
func newUnjudged(dataDir, dir, marker string) *unjudged {
	u := &unjudged{dir: dir, marker: marker}
	if dataDir != "" && marker != "" {
		u.folder = filepath.Join(dataDir, "unjudged")
	}
	return u
}

// begin records that commands begin, and returns the unjudged files of earlier sessions; nil if
// there are none. absent are the paths that git would run or obey.
func (u *unjudged) begin(absent []string) *quarantine.Unjudged {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.folder == "" || u.file != nil {
		return u.earlier
	}
	u.record = unjudgedRecord{Dir: u.dir, Unjudged: quarantine.Unjudged{Since: time.Now(), Absent: absent}}
	u.record.Markers = []string{u.marker}
	stale := staleRecords(u.folder, u.dir)
	for _, s := range stale {
		u.record.merge(s.record)
	}
	if len(stale) > 0 {
		left := u.record.Unjudged
		u.earlier = &left
	}
	if u.write() == nil { // otherwise this session is not recorded, and the others stay
		for _, s := range stale {
			_ = os.Remove(s.path)
		}
	}
	for _, s := range stale {
		_ = s.file.Close()
	}
	return u.earlier
}

// merge adds the record of another session.
func (r *unjudgedRecord) merge(record unjudgedRecord) {
	if record.Since.Before(r.Since) {
		r.Since = record.Since
	}
	r.Absent = append(slices.Clip(r.Absent), record.Absent...)
	for _, marker := range record.Markers {
		if proc.Marked(marker) && !slices.Contains(r.Markers, marker) {
			r.Markers = append(r.Markers, marker)
		}
	}
}

// write writes the record to its file, and creates the file before the first time.
func (u *unjudged) write() (err error) {
	if u.file == nil {
		if err := os.MkdirAll(u.folder, 0o700); err != nil {
			return err
		}
		if u.file, err = os.CreateTemp(u.folder, directoryID(u.dir)+"-"); err != nil {
			return err
		}
		if _, err := disk.TryLock(u.file); err != nil {
			return err
		}
	}
	return disk.RewriteJSON(u.file, u.record)
}

// end is called when the session's guard is closed: whether its last look was complete, and
// whether no command ran then. It removes the record if nothing is left to judge.
func (u *unjudged) end(complete, idle bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		return nil
	}
	defer func() { _ = u.file.Close() }() // it is written, or removed
	u.record.Markers = slices.DeleteFunc(u.record.Markers, func(marker string) bool {
		return marker == u.marker || !proc.Marked(marker)
	})
	if complete && idle && len(u.record.Markers) == 0 {
		return os.Remove(u.file.Name())
	}
	if complete {
		u.record.Since = time.Now()
	}
	u.record.Markers = append(u.record.Markers, u.marker)
	return u.write()
}

// staleRecord is the record of a session that has ended, with its locked file.
type staleRecord struct {
	path   string
	file   *os.File
	record unjudgedRecord
}

// maxRecord bounds a record in bytes.
const maxRecord = 1 << 20

// staleRecords returns the records of ended sessions about a directory.
func staleRecords(folder, dir string) (list []staleRecord) {
	entries, _ := os.ReadDir(folder) // without the folder, there is none
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), directoryID(dir)+"-") {
			continue
		}
		s := staleRecord{path: filepath.Join(folder, entry.Name())}
		var err error
		if s.file, err = os.OpenFile(s.path, os.O_RDWR, 0); err != nil {
			continue
		}
		free, err := disk.TryLock(s.file)
		raw, readErr := io.ReadAll(io.LimitReader(s.file, maxRecord))
		if err != nil || !free || readErr != nil {
			_ = s.file.Close()
			continue
		}
		if json.Unmarshal(raw, &s.record) != nil { // settle was killed while it wrote it: everything can be new
			s.record = unjudgedRecord{}
		}
		list = append(list, s)
	}
	return list
}

// directoryID names a directory in the names of files.
func directoryID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// unjudgedNotes returns notes for the user about files that a command of an earlier session left
// and that are not judged, once.
func (s sandboxing) unjudgedNotes() (notes []string) {
	if s.dataDir == "" {
		return nil
	}
	for _, stale := range staleRecords(filepath.Join(s.dataDir, "unjudged"), s.dir) {
		if len(notes) == 0 && !stale.record.Noted {
			what := "a command of an earlier session in %s ran on unwatched, and may have left files that git runs"
			if slices.ContainsFunc(stale.record.Markers, proc.Marked) {
				what = "a command of an earlier session in %s still runs unwatched, and can leave files that git runs"
			}
			notes = []string{
				fmt.Sprintf(what, s.dir),
				"use git there only after the agent has run a command there: settle then looks for such files",
			}
		}
		stale.record.Noted = true
		_ = disk.RewriteJSON(stale.file, stale.record) // otherwise the next session has the note again
		_ = stale.file.Close()
	}
	return notes
}
