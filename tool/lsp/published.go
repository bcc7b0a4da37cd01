package lsp

import (
	"strings"
	"sync"
)

// Bounds of the messages that a server can publish.
const (
	maxFiles     = 5000
	maxErrors    = 200 // of a file
	maxAllErrors = 20_000
	maxURI       = 4 << 10 // bytes
	maxWork      = 100     // reports of work that has not ended
	maxToken     = 200     // bytes
)

// finding is an error that a server published.
type finding struct {
	path    string // absolute
	line    int    // from 1
	column  int    // from 1, in UTF-16 units
	message string
}

// errorKey is equal for the same error on another line: edits move lines. It shares the
// strings of the finding.
type errorKey struct{ path, message string }

func (f finding) key() errorKey { return errorKey{f.path, f.message} }

// published are the current errors of a server, by the URI of a file, and its reports of
// work.
type published struct {
	changed chan struct{} // holds one token after a publication or a report
	title   string        // Language.Work

	mu    sync.Mutex // guards the fields below
	files map[string]publishedFile
	least map[string]int // version of each open text, by URI: publications about earlier ones are stale
	count int            // publications so far
	total int            // errors of all files
	cut   bool
	work  map[string]bool // reported work that has not ended, by its token
	begun int             // reports of work so far
}

type publishedFile struct {
	errors  []finding
	version int // of the text; -1 if the server did not name it
	at      int // number of the publication
}

func newPublished(title string) *published {
	return &published{
		changed: make(chan struct{}, 1), title: title, files: map[string]publishedFile{}, least: map[string]int{},
		work: map[string]bool{},
	}
}

// opened records the version of a text that the server receives next.
func (p *published) opened(uri string, version int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.least[uri] = version
}

// closed records that the server reads the file from the disk.
func (p *published) closed(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.least, uri)
}

// add records a publication. It ignores one for something that is not a file, and one that names
// an earlier version of an open text.
func (p *published) add(d publication) {
	path := pathOf(d.URI)
	if path == "" {
		return
	}
	f := publishedFile{version: -1}
	if d.Version != nil {
		f.version = *d.Version
	}
	for _, one := range d.Diagnostics {
		if one.Severity != severityError && one.Severity != 0 {
			continue
		}
		if len(f.errors) >= maxErrors {
			break
		}
		f.errors = append(f.errors, finding{
			path: path, line: max(one.Range.Start.Line, 0) + 1, column: max(one.Range.Start.Character, 0) + 1,
			message: clip(one.Message, maxText),
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	uri := uriOf(path) // servers encode some characters in another way
	if d.Version != nil && f.version < p.least[uri] {
		return
	}
	p.count++
	f.at = p.count
	before, known := p.files[uri]
	if known || len(p.files) < maxFiles {
		p.total -= len(before.errors)
		if room := maxAllErrors - p.total; len(f.errors) > room {
			f.errors, p.cut = f.errors[:room], true
		}
		p.total += len(f.errors)
		p.files[uri] = f
	} else {
		p.cut = true
	}
	p.signal()
}

// report records that the server begins or ends work.
func (p *published) report(r progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := string(r.Token)
	switch {
	case r.Value.Kind == "end":
		delete(p.work, token)
	case r.Value.Kind == "begin" && strings.HasPrefix(r.Value.Title, p.title):
		p.begun++
		if len(token) <= maxToken && len(p.work) < maxWork {
			p.work[token] = true
		}
	}
	p.signal()
}

// signal reports a change. The caller holds mu.
func (p *published) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// worked reports whether all reported work has ended. isExact is true if the server reports
// its work for each of the sent messages, so that nothing follows.
func (p *published) worked(sent int) (ended, isExact bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isExact = p.title != "" && p.begun > 0
	return len(p.work) == 0 && (!isExact || p.begun >= sent), isExact
}

// isCut reports whether errors are missing because there were too many files or errors.
func (p *published) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// serial returns the number of publications so far.
func (p *published) serial() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// covers reports whether each text was judged: in its version, or after the publication
// with the number if the server does not name versions.
func (p *published) covers(versions map[string]int, after int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uri, version := range versions {
		f, known := p.files[uri]
		if !known || f.at <= after || f.version >= 0 && f.version < version {
			return false
		}
	}
	return true
}

// isStale reports whether the errors of a file are about an earlier version of its text.
func (p *published) isStale(uri string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.files[uri]
	return known && f.version >= 0 && f.version < p.least[uri]
}

// hasVersion reports whether the server named the version of a file's text.
func (p *published) hasVersion(uri string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.files[uri]
	return known && f.version >= 0
}

// all returns the current errors.
func (p *published) all() (list []finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.files {
		list = append(list, f.errors...)
	}
	return list
}
