package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// ChangeKind is the kind of a change of a file.
type ChangeKind string

// The kinds of changes.
const (
	Create ChangeKind = "create"
	Update ChangeKind = "update"
	Delete ChangeKind = "delete"
	Move   ChangeKind = "move"
)

// Change describes a call's change of one file, for people and frontends.
type Change struct {
	// Path is relative to the session's directory if it is inside it.
	Path string `json:"path"`
	// From is the path of the file before it was moved.
	From string     `json:"from,omitempty"`
	Kind ChangeKind `json:"kind"`
	// Diff is a unified diff with its header, at most 32 KiB a call.
	Diff string `json:"diff,omitempty"`
	// Cut reports that Diff is incomplete.
	Cut     bool `json:"cut,omitempty"`
	Added   int  `json:"added"`
	Removed int  `json:"removed"`
	// SHA256 is the hash of the whole new content, in hex.
	SHA256 string `json:"sha256,omitempty"`
	// Before is the earlier file at Path, and Moved the earlier file at From; nil if there
	// was none.
	Before *Past `json:"before,omitempty"`
	Moved  *Past `json:"moved,omitempty"`
	// Real and FromReal are the real paths of files behind symbolic links.
	Real     string `json:"real,omitempty"`
	FromReal string `json:"from_real,omitempty"`
	// Made are the canonical paths of the directories above the file that the call created, from
	// above.
	Made []string `json:"made,omitempty"`
}

// Changes is the Detail of a result of write, edit and apply_patch.
type Changes struct {
	Files []Change `json:"files"`
}

// Reading is the Detail of a result of read: the version of the file, if the call read all
// of it.
type Reading struct {
	Read Version `json:"read"`
}

// Version is a file with the hash of its content.
type Version struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

const (
	maxDiffBytes = 32 << 10
	// maxDiffInput bounds the content that is compared line by line.
	maxDiffInput = 8 << 20
)

// newChange compares two contents of a file; nil for no file.
func newChange(path, from string, before, after []byte, room int) Change {
	c := Change{Path: path, Kind: Update}
	if after != nil {
		c.SHA256 = hexDigest(sha256.Sum256(after))
	}
	oldName, newName := "a/"+path, "b/"+path
	switch {
	case before == nil:
		c.Kind, oldName = Create, "/dev/null"
	case after == nil:
		c.Kind, newName = Delete, "/dev/null"
	case from != "":
		c.Kind, c.From, oldName = Move, from, "a/"+from
	}
	if len(before)+len(after) > maxDiffInput || bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		c.Cut = true
		c.Added, c.Removed = bytes.Count(after, []byte("\n")), bytes.Count(before, []byte("\n"))
		return c
	}
	a, b := splitLines(string(before)), splitLines(string(after))
	changes := diffLines(a, b)
	for _, ch := range changes {
		c.Removed += ch.toA - ch.fromA
		c.Added += ch.toB - ch.fromB
	}
	if len(changes) == 0 {
		return c
	}
	diff := fmt.Sprintf("--- %s\n+++ %s\n%s", oldName, newName, unified(a, b, changes))
	c.Diff, c.Cut = cutLines(diff, room)
	return c
}

// cutLines returns the whole lines of s that fit into limit bytes.
func cutLines(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	return s[:strings.LastIndexByte(s[:max(limit, 0)], '\n')+1], true
}

// detail encodes the changes. Invalid UTF-8 in them becomes U+FFFD.
func detail(files ...Change) json.RawMessage {
	raw, err := json.Marshal(Changes{Files: files})
	if err != nil {
		return nil // strings and numbers: Marshal cannot fail
	}
	return raw
}

func hexDigest(d digest) string { return hex.EncodeToString(d[:]) }

// reading encodes the version that was read.
func reading(path, sum string) json.RawMessage {
	raw, err := json.Marshal(Reading{Version{Path: path, SHA256: sum}})
	if err != nil {
		return nil // strings: Marshal cannot fail
	}
	return raw
}

// counts returns the size of a change, such as "+3 -1".
func (c Change) counts() string { return fmt.Sprintf("+%d -%d", c.Added, c.Removed) }
