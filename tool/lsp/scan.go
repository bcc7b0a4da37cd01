package lsp

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// maxScanned bounds the entries of a scan, and scanTimeout its time.
	maxScanned  = 50_000
	scanTimeout = 500 * time.Millisecond
)

// The protocol's kinds of changes of files.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)

// fileEvent notifies a server that a file changed on disk.
type fileEvent struct {
	URI  string `json:"uri"`
	Type int    `json:"type"`
}

// stamp is the size in bytes and the modification time of a file, by which a scan finds changes.
type stamp struct {
	size     int64
	modified int64
}

// scan reads names, sizes and times of the files that a server reads, never their content.
// isComplete is false if it reached a bound.
func scan(dir string, l *Language) (files map[string]stamp, isComplete bool) {
	files, isComplete = map[string]stamp{}, true
	n, end := 0, time.Now().Add(scanTimeout)
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // files that cannot be read are not compared
		}
		if n++; n > maxScanned || n%256 == 0 && time.Now().After(end) {
			isComplete = false
			return fs.SkipAll
		}
		name := e.Name()
		switch {
		case e.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "target"):
			return fs.SkipDir
		case !e.Type().IsRegular() || !l.reads(name):
			return nil
		}
		if info, err := os.Lstat(path); err == nil {
			files[path] = stamp{info.Size(), info.ModTime().UnixNano()}
		}
		return nil
	})
	return files, isComplete
}

// compare returns the changes between two scans. A scan that reached a bound proves no deletion.
func compare(before, after map[string]stamp, isComplete bool) (events []fileEvent) {
	for path, now := range after {
		switch then, known := before[path]; {
		case !known:
			events = append(events, fileEvent{uriOf(path), fileCreated})
		case then != now:
			events = append(events, fileEvent{uriOf(path), fileChanged})
		}
	}
	for path := range before {
		if _, exists := after[path]; !exists && isComplete {
			events = append(events, fileEvent{uriOf(path), fileDeleted})
		}
	}
	return events
}
