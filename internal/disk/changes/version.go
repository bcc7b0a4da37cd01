package changes

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// Kind is the kind of an entry.
type Kind string

// The kinds. All others, such as FIFOs, are not recorded.
const (
	File      Kind = "" // a regular file
	Directory Kind = "directory"
	Link      Kind = "link" // a symbolic link
)

// Version is an entry at one time.
type Version struct {
	Kind Kind `json:"kind,omitempty"`
	// SHA256 is the hash of a file's whole content, in hex; empty if it is unknown.
	SHA256 string `json:"sha256,omitempty"`
	// Size is the size of a file whose hash is unknown, in bytes.
	Size int64 `json:"size,omitempty"`
	// Mode are the permissions of a file or directory, such as "0644"; empty if they are unknown.
	Mode string `json:"mode,omitempty"`
	// Target is the target of a link.
	Target string `json:"target,omitempty"`
}

// Perm returns the permissions; 0 if they are unknown.
func (v Version) Perm() fs.FileMode { return disk.ParseMode(v.Mode) }

// Same reports whether two versions are equal, or there is neither. Unknown permissions equal all
// permissions; an unknown content equals none.
func Same(a, b *Version) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Target != b.Target || a.SHA256 != b.SHA256 || a.Kind == File && a.SHA256 == "" {
		return false
	}
	return a.Mode == "" || b.Mode == "" || a.Mode == b.Mode
}

// Change is one changed entry.
type Change struct {
	// Path is relative to the session's directory, with slashes, without links.
	Path string `json:"path"`
	// Before and After are the versions before and after the call; nil if there was no entry.
	Before *Version `json:"before,omitempty"`
	After  *Version `json:"after,omitempty"`
	// Why is the reason why the change cannot be undone; empty if it can.
	Why string `json:"why,omitempty"`
}

// Record are the changes of one call.
type Record struct {
	// At is the time after the call at which the files were compared.
	At    time.Time `json:"at"`
	Files []Change  `json:"files"`
	// More is the number of changes that are not in Files, because there are too many.
	More int `json:"more,omitempty"`
	// With are the ids of calls that ran at the same time: each of them can have made the changes.
	With []string `json:"with,omitempty"`
	// Why is the reason why nothing was recorded; empty if the record is complete except for More.
	Why string `json:"why,omitempty"`
}

// maxNamed bounds the changes of one record.
const maxNamed = 1000

// add adds changes, in the order of paths. Beyond the bound, it leaves out created entries first:
// an earlier content that is not recorded would be lost.
func (r *Record) add(all []Change) {
	r.More = max(0, len(all)-maxNamed)
	if r.More > 0 {
		slices.SortStableFunc(all, func(a, b Change) int { return a.rank() - b.rank() })
		all = all[:maxNamed]
		slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	}
	r.Files = append(r.Files, all...)
}

// rank is 1 for a created entry.
func (c Change) rank() int {
	if c.Before == nil {
		return 1
	}
	return 0
}

// detail is the part of a call's detail that has the record.
type detail struct {
	Changed *Record `json:"changed"`
}

// AddTo returns the detail of a call with the record. A detail that is no JSON object is
// returned unchanged.
func (r Record) AddTo(raw json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if len(raw) > 0 && json.Unmarshal(raw, &fields) != nil || fields == nil {
		return raw
	}
	record, err := json.Marshal(r)
	if err != nil {
		return raw
	}
	fields["changed"] = record
	if out, err := json.Marshal(fields); err == nil {
		return out
	}
	return raw
}

// RecordOf returns the record in the detail of a call; nil if there is none.
func RecordOf(raw json.RawMessage) *Record {
	var d detail
	if len(raw) == 0 || json.Unmarshal(raw, &d) != nil {
		return nil
	}
	return d.Changed
}
