package redact

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Mask is what stands in the place of a secret. It needs no escaping in JSON,
// and contains nothing that [Diagnostic] looks for.
const Mask = "***settle:masked***"

// MinLength is the length in characters from which a value counts as a secret.
// Shorter ones are left alone: "EMPTY" is a real key of local servers.
const MinLength = 16

// Redactor masks the exact values that it was told. All methods may be called
// by several goroutines at once. A nil Redactor masks nothing.
type Redactor struct {
	mu      sync.Mutex          // serialises Add
	values  map[string]struct{} // guarded by mu
	matcher atomic.Pointer[matcher]
}

// New returns a Redactor for the values; those under [MinLength] are ignored.
func New(values ...string) *Redactor {
	r := &Redactor{values: map[string]struct{}{}}
	r.Add(values...)
	return r
}

// Add makes more values secret, from now on and in streams that are open.
// White space around a value does not belong to it.
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

// String returns the text with every secret masked. A beginning of a secret of
// at least [MinLength] bytes at the very end of the text is masked as well: an
// interrupt may have cut the text in the middle of it.
func (r *Redactor) String(text string) string {
	m := r.current()
	if m == nil || len(text) < MinLength {
		return text
	}
	out, _, _ := replace(m, text, 0, whole)
	return out
}

// Bytes is String for bytes. Where there is nothing to mask it returns data
// itself, else a new slice.
func (r *Redactor) Bytes(data []byte) []byte {
	m := r.current()
	if m == nil || len(data) < MinLength {
		return data
	}
	found, _ := scan(m, data, whole)
	if len(found) == 0 {
		return data
	}
	return []byte(r.String(string(data)))
}

// Blank overwrites every secret in data with asterisks, where it is.
func (r *Redactor) Blank(data []byte) {
	m := r.current()
	if m == nil {
		return
	}
	found, _ := scan(m, data, whole)
	for _, s := range found {
		for i := s.start; i < s.end; i++ {
			data[i] = '*'
		}
	}
}

// Masked reports whether the text contains our own mask. Such text must not be
// written to a file: it would put the mask in the place of the secret.
func (r *Redactor) Masked(text string) bool {
	return strings.Contains(text, Mask)
}

// Diagnostic masks the exact values, then what looks like a secret; see
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
