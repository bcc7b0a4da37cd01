package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/internal/journal"
)

// maxCandidates is the number of ids that an error lists.
const maxCandidates = 5

// minShown is the minimum number of characters of a shown beginning of an id.
const minShown = 8

// Beginnings returns for each session the beginning of its id that no other session of the
// data directory has, or the whole name if a person chose it.
func Beginnings(dataDir string) (map[string]string, error) {
	list, err := journal.List(dataDir)
	var ids []string
	for _, e := range list {
		ids = append(ids, e.Session)
	}
	out := Shortest(ids)
	for _, id := range ids {
		if !isGenerated(id) {
			out[id] = id
		}
	}
	return out, err
}

// isGenerated reports whether the id is a UUID, as settle and its clients generate ids, and no
// name that a person chose.
func isGenerated(id string) bool {
	const length = 36 // Validate also accepts other forms
	return len(id) == length && uuid.Validate(id) == nil
}

// Shortest returns for each ID the beginning that no other of the IDs has.
func Shortest(ids []string) map[string]string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	out := make(map[string]string, len(ids))
	for n, id := range ids {
		enough := minShown
		for _, near := range []int{n - 1, n + 1} { // the ids that have most in common with it
			if near >= 0 && near < len(ids) {
				enough = max(enough, shared(id, ids[near])+1)
			}
		}
		for enough < len(id) && !utf8.RuneStart(id[enough]) {
			enough++
		}
		out[id] = id[:min(enough, len(id))]
	}
	return out
}

// shared returns how many bytes two ids begin with alike.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// AmbiguousError reports that several sessions have generated ids with the same beginning.
type AmbiguousError struct{ what string }

func (e *AmbiguousError) Error() string { return e.what }

// Resolve returns the id of the session that a person means: the id itself or, if the id is
// generated, as much of its beginning as no other generated id has. A chosen name must be
// whole: if the session "ci" is deleted, "ci" must not mean "ci-2". The error is an
// [*AmbiguousError] if several sessions are possible.
func Resolve(dataDir, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("the session's id is empty; \"settle sessions\" lists the sessions")
	}
	list, err := journal.List(dataDir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range list {
		if e.Session == name {
			return name, nil
		}
		if isGenerated(e.Session) && strings.HasPrefix(e.Session, name) {
			found = append(found, e.Session)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("there is no session %q; \"settle sessions\" lists the sessions", name)
	}
	slices.Sort(found)
	more := ""
	if n := len(found) - maxCandidates; n > 0 {
		found, more = found[:maxCandidates], fmt.Sprintf(" and %d more", n)
	}
	enough, err := Beginnings(dataDir)
	if err != nil {
		return "", err
	}
	for n, id := range found {
		found[n] = enough[id]
	}
	return "", &AmbiguousError{
		fmt.Sprintf("session %q is ambiguous: %s%s; use more of the id", name, strings.Join(found, ", "), more),
	}
}
