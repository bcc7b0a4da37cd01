package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// ChangeKind says how a call changes a file.
type ChangeKind string

// The kinds of changes.
const (
	Create ChangeKind = "create"
	Update ChangeKind = "update"
	Delete ChangeKind = "delete"
	Move   ChangeKind = "move"
)

// Change says what a call did to one file, for people and faces.
type Change struct {
	// Path is relative to the session's directory where it lies in it.
	Path string `json:"path"`
	// From is where the file was before it was moved.
	From string     `json:"from,omitempty"`
	Kind ChangeKind `json:"kind"`
	// Diff is a unified diff with its header, at most 32 KiB a call.
	Diff string `json:"diff,omitempty"`
	// Cut says that Diff is not the whole.
	Cut     bool `json:"cut,omitempty"`
	Added   int  `json:"added"`
	Removed int  `json:"removed"`
	// SHA256 is that of the whole new content, in hex.
	SHA256 string `json:"sha256,omitempty"`
	// Before is what the file was, Moved what the one at From was, in what a call
	// has done; nil where there was none.
	Before *Past `json:"before,omitempty"`
	Moved  *Past `json:"moved,omitempty"`
	// Real and FromReal are where the files are whose paths lead through symbolic
	// links.
	Real     string `json:"real,omitempty"`
	FromReal string `json:"from_real,omitempty"`
}

// Changes is the Detail of a result of write, edit and apply_patch.
type Changes struct {
	Files []Change `json:"files"`
}

// Reading is the Detail of a result of read: what the file was then, where all of
// it was looked at.
type Reading struct {
	Read Version `json:"read"`
}

// Version is a file with its content.
type Version struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

const (
	maxDiffBytes = 32 << 10
	// maxDiffInput bounds the content that is compared line by line.
	maxDiffInput = 8 << 20
)

// newChange compares two contents of a file; nil stands for no file.
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

// cutLines keeps the whole lines of s that fit into limit bytes.
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
		return nil // Strings and numbers: it cannot fail.
	}
	return raw
}

func hexDigest(d digest) string { return hex.EncodeToString(d[:]) }

// reading encodes what was read.
func reading(path, sum string) json.RawMessage {
	raw, err := json.Marshal(Reading{Version{Path: path, SHA256: sum}})
	if err != nil {
		return nil // Strings: it cannot fail.
	}
	return raw
}

// counts writes how much changed, such as "+3 -1".
func (c Change) counts() string { return fmt.Sprintf("+%d -%d", c.Added, c.Removed) }
