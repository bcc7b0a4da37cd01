package policy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/settle-agent/settle/internal/disk"
)

// Bounds of the record of found files: its entries, of which the newest stay, and its bytes.
const (
	maxRecorded    = 4 * maxHidden
	maxSecretsFile = 1 << 20
)

// secretRecord is a found file in the record of a directory.
type secretRecord struct {
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Seconds int64  `json:"seconds"` // of its birth
	Nanos   uint32 `json:"nanos"`
	Folder  bool   `json:"folder,omitempty"`
	Config  bool   `json:"config,omitempty"`
}

// Keep has the search begin with the files that earlier sessions found, and record the found files
// at path. It must precede all other calls. A record that cannot be used is empty, which Keep
// reports to the log; the log can be nil.
func (s *SecretFiles) Keep(path string, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path, s.log = path, log
	s.read()
}

// read adds the recorded files to the found ones.
func (s *SecretFiles) read() {
	data, size, err := disk.Read(s.path, maxSecretsFile)
	if os.IsNotExist(err) {
		return
	}
	var list []secretRecord
	if err == nil && size > maxSecretsFile {
		err = fmt.Errorf("it has more than %d bytes", maxSecretsFile)
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		s.warn("cannot read which files with secrets earlier sessions found; it begins empty", err)
		return
	}
	for _, r := range list[max(0, len(list)-maxRecorded):] {
		if s.add(identityFrom(r), secretKind{r.Config}) {
			s.known = nil // another session can have found it after this one has listed its folder
		}
	}
}

// add records a found file. It reports whether the file is new, or has become secret as a whole.
func (s *SecretFiles) add(id identity, kind secretKind) bool {
	known, found := s.hidden[id]
	if found && (kind.config || !known.config) {
		return false
	}
	if s.hidden == nil {
		s.hidden = map[identity]secretKind{}
	}
	if !found {
		s.order = append(s.order, id)
	}
	s.hidden[id], s.folders = kind, s.folders || id.folder
	return true
}

// write records the found files, together with the files that other sessions have recorded in the
// meantime.
func (s *SecretFiles) write() {
	if s.path == "" {
		return
	}
	s.read()
	list := make([]secretRecord, 0, len(s.order))
	for _, id := range s.order[max(0, len(s.order)-maxRecorded):] {
		r := id.record()
		r.Config = s.hidden[id].config
		list = append(list, r)
	}
	data, err := json.Marshal(list)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.path), 0o700)
	}
	if err == nil {
		err = disk.Replace(s.path, data)
	}
	if err != nil {
		s.warn("cannot record which files with secrets were found; the next session goes by their names", err)
	}
}

func (s *SecretFiles) warn(what string, err error) {
	if s.log != nil {
		s.log.Warn(what, "file", s.path, "error", err)
	}
}
