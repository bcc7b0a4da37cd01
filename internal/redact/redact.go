package redact

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Mask replaces a secret. It needs no escaping in JSON and contains nothing that
// [Diagnostic] masks.
const Mask = "***settle:masked***"

// MinLength is the minimum length of a secret in characters. Shorter values are not masked:
// "EMPTY" is a real key of local servers.
const MinLength = 16

// Redactor masks the exact values of its secrets. All methods are safe for concurrent use.
// A nil Redactor masks nothing.
type Redactor struct {
	mu      sync.Mutex          // serializes Add
	values  map[string]struct{} // guarded by mu
	matcher atomic.Pointer[matcher]
}

// New returns a Redactor for the values; values shorter than [MinLength] are ignored.
func New(values ...string) *Redactor {
	r := &Redactor{values: map[string]struct{}{}}
	r.Add(values...)
	return r
}

// Add makes more values secret, also in open streams. It removes white space around a
// value.
func (r *Redactor) Add(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	grown := false
	for _, value := range values {
		value = strings.TrimSpace(value)
		if _, known := r.values[value]; known || utf8.RuneCountInString(value) < MinLength {
			continue
		}
		r.values[value] = struct{}{}
		grown = true
	}
	if !grown {
		return
	}
	var all []string
	for value := range r.values {
		all = append(all, forms(value)...)
	}
	r.matcher.Store(newMatcher(all))
}

// String returns the text with every secret masked. It also masks a beginning of a secret
// of at least [MinLength] bytes at the very end of the text, because an interrupt can have
// cut the text there.
func (r *Redactor) String(text string) string {
	m := r.current()
	if m == nil || len(text) < MinLength {
		return text
	}
	out, _, _ := replace(m, text, 0, complete)
	return out
}

// Bytes is String for bytes. It returns data itself if there is nothing to mask, otherwise
// a new slice.
func (r *Redactor) Bytes(data []byte) []byte {
	m := r.current()
	if m == nil || len(data) < MinLength {
		return data
	}
	found, _ := scan(m, data, complete)
	if len(found) == 0 {
		return data
	}
	return []byte(r.String(string(data)))
}

// Blank overwrites every secret in data with asterisks.
func (r *Redactor) Blank(data []byte) {
	m := r.current()
	if m == nil {
		return
	}
	found, _ := scan(m, data, complete)
	for _, s := range found {
		for i := s.start; i < s.end; i++ {
			data[i] = '*'
		}
	}
}

// Masked reports whether the text contains settle's own mask. A tool must not write such a
// text to a file, because the mask would replace the secret there.
func (r *Redactor) Masked(text string) bool {
	return strings.Contains(text, Mask)
}

// Diagnostic masks the exact values, then text that looks like a secret; see the function
// [Diagnostic].
func (r *Redactor) Diagnostic(text string) string {
	return Diagnostic(r.String(text))
}

func (r *Redactor) current() *matcher {
	if r == nil {
		return nil
	}
	return r.matcher.Load()
}
