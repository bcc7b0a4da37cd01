package quarantine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// Unjudged describes files that no guard has judged: a sandboxed command of an earlier session ran
// on after its guard had ended, or settle was killed.
type Unjudged struct {
	// Since is the time of the last look; later changes can be the command's or the user's.
	Since time.Time
	// Absent are the paths that were absent then and that git would run or obey.
	Absent []string
}

// Judged reports whether the last look was complete, and whether no command ran then. Close
// must have returned.
func (g *Guard) Judged() (complete, idle bool) {
	g.lock <- struct{}{}
	defer g.release()
	return g.cutReason == nil, g.running == 0
}

// suspect moves files aside that can be the work of an earlier session's command, and reports paths
// that were absent in the last look of that session.
func (g *Guard) suspect(u *Unjudged) {
	if u == nil {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(g.known)) {
		r := g.known[path]
		for _, f := range g.faults(path, r) {
			if changedSince(path, u.Since) || changedSince(filepath.Join(path, filepath.FromSlash(f.entry)), u.Since) {
				r.mayBeUsers = true
				g.move(path, r, f)
			}
		}
		r.mayBeUsers = false
	}
	for _, path := range u.Absent {
		if _, err := os.Lstat(path); err == nil {
			g.findings = append(g.findings, Finding{
				Path: path,
				Why: "git runs or obeys it, and it was absent when settle last looked, in an earlier session:" +
					" look at it before you run git there",
			})
		}
	}
}

func changedSince(path string, since time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && !disk.ChangeTime(info).Before(since)
}
