package rewind

import (
	"fmt"
	"os"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
)

// onlyCopyIn returns the reason why the entries that a call created must not be removed: the call
// can have moved them from a path that cannot be restored. It returns "" if there is no such path.
func onlyCopyIn(r *changes.Record) string {
	if r.More > 0 {
		return fmt.Sprintf("it may have been moved: %d more changes of its call were not recorded", r.More)
	}
	for _, one := range r.Files {
		if one.Before != nil && one.Before.Kind == changes.File && one.Why != "" {
			return fmt.Sprintf("it may have the content of %s, which cannot be restored", one.Path)
		}
	}
	return ""
}

// keepOnlyCopies keeps created files that may have the only copy of a content that is not restored,
// and created files that are the file of another path.
func (p *Plan) keepOnlyCopies(root *disk.Dir) {
	unrestored := map[changes.Version]string{}
	folded := map[string][]string{}
	for _, f := range p.Files {
		if f.Do == Keep && f.Was != nil && f.Was.Kind == changes.File {
			unrestored[changes.Version{SHA256: f.Was.SHA256, Size: f.Was.Size}] = f.Path
		}
		if f.Do != Remove && f.isInTree {
			key := strings.ToLower(f.Path)
			folded[key] = append(folded[key], f.Path)
		}
	}
	for n := range p.Files {
		f := &p.Files[n]
		if f.Do != Remove {
			continue
		}
		for _, twin := range folded[strings.ToLower(f.Path)] {
			if f.isInTree && isSameFile(root, f.Path, twin) {
				f.Do, f.Why = Keep, "it is the same file as "+twin
			}
		}
		for _, content := range []changes.Version{{SHA256: f.Left.SHA256}, {Size: f.size}} {
			if from, ok := unrestored[content]; ok && content != (changes.Version{}) && f.Do == Remove {
				f.Do, f.Why = Keep, "it may have the content of "+from+", which is not restored"
			}
		}
	}
}

// isSameFile reports whether two paths that differ in case alone name the same file, since the
// file system ignores case.
func isSameFile(root *disk.Dir, a, b string) bool {
	one, err := changes.Info(root, a)
	if err != nil {
		return false
	}
	twin, err := changes.Info(root, b)
	return err == nil && os.SameFile(one, twin)
}
