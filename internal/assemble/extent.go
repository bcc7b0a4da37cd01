package assemble

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// CheckExtent checks the folders that a client adds to the sandbox of a mode, before the
// mode is in force. It refuses a folder that contains a protected folder or is in one,
// because sandboxed commands cannot get it. The notes name folders that commands cannot
// change for another reason (C22).
func (a *Agent) CheckExtent(m Mode) (notes []string, err error) { return a.confined.sandbox.extent(m) }

func (s sandboxing) extent(m Mode) (notes []string, err error) {
	for _, path := range m.Extent.Write {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("cannot let commands change the folder %q: the path is not absolute", path)
		}
		if why := s.overlap(path); why != "" {
			return nil, fmt.Errorf("cannot let commands change the folder %q: it %s; name another folder",
				path, why)
		}
	}
	switch {
	case s.of(m) != event.Workspace:
	case s.chosen && len(m.Extent.Write) > 0:
		notes = append(notes, fmt.Sprintf(
			"sandboxed commands cannot change %s: your own sandbox configuration decides; add folders to sandbox.write",
			strings.Join(m.Extent.Write, ", "),
		))
	case !s.chosen:
		for _, path := range m.Extent.Temporary {
			if why := s.overlap(path); why != "" {
				notes = append(notes, fmt.Sprintf("sandboxed commands cannot change %s: it %s", path, why))
			}
		}
	}
	return notes, nil
}

// Protected returns the reason why no client gets the right to change a folder without a
// question: it contains files that settle or another agent obeys, or is in such a folder.
// It is empty for other folders.
func Protected(r *config.Resolved, getenv func(string) string, folder string) string {
	s := sandboxing{home: getenv("HOME"), configDir: configDir(getenv), dataDir: r.DataDir}
	return s.overlap(folder)
}

// wishes are a client's additions to its sandbox.
type wishes policy.Extent

// wishes returns the client's additions in the mode in force, without folders that
// sandboxed commands must not change.
func (b *sandboxes) wishes() wishes {
	if b.confinement.extent == nil || b.chosen { // a client cannot loosen the user's choice
		return wishes{}
	}
	w := wishes(b.confinement.extent())
	overlaps := func(path string) bool { return b.overlap(path) != "" }
	w.Write = slices.DeleteFunc(slices.Clone(w.Write), overlaps)
	w.Temporary = slices.DeleteFunc(slices.Clone(w.Temporary), overlaps)
	return w
}

// writable returns the folders that commands can change.
func (w wishes) writable() []string { return slices.Concat(w.Write, w.Temporary) }
