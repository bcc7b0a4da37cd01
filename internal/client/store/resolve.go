package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/journal"
)

// maxCandidates is how many ids an error lists.
const maxCandidates = 5

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
	return "", fmt.Errorf("session %q is ambiguous: %s%s; use more of the id", name, strings.Join(found, ", "), more)
}
