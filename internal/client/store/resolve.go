package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/journal"
)

// maxCandidates is how many ids an error lists.
const maxCandidates = 5

// minShown is how many characters a shown beginning of an id has at least.
const minShown = 8

// Beginnings returns for each session the beginning of its id that no other session of the
// data directory has.
func Beginnings(dataDir string) (map[string]string, error) {
	list, err := journal.List(dataDir)
	var ids []string
	for _, e := range list {
		ids = append(ids, e.Session)
	}
	return Shortest(ids), err
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

// Resolve returns the id of the session that a person means: the id itself, or as
// much of its beginning as no other session has.
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
		if strings.HasPrefix(e.Session, name) {
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
	return "", fmt.Errorf("session %q is ambiguous: %s%s; use more of the id", name, strings.Join(found, ", "), more)
}
