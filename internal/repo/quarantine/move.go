package quarantine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/settle-agent/settle/internal/disk"
)

// A command can exchange folders for links while the guard works. The guard therefore opens
// each folder name by name, follows no link, and changes entries of the folder that it has
// inspected only.

// errExchanged means that a folder is not the inspected one any more.
var errExchanged = errors.New("it was exchanged while settle looked at it")

// exchanged reports whether an error indicates that a path changed during the look. The next look
// judges the new entry.
func exchanged(err error) bool {
	var changed *disk.ChangedError
	return errors.As(err, &changed) || errors.Is(err, errExchanged) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EISDIR)
}

// identity identifies an open folder; nil if that fails.
func identity(dir *os.Root) fs.FileInfo {
	info, err := dir.Stat(".")
	if err != nil {
		return nil
	}
	return info
}

// open opens a folder below a base without following links, also one that its owner made
// unlistable: a command could hide a repository in it.
func (g *Guard) open(base *os.Root, rel string) (*os.Root, error) {
	dir, err := disk.Beneath(base, rel)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return dir, err
	}
	if g.trusting {
		return g.openOnce(base, rel)
	}
	if regain(base, rel) {
		return disk.Beneath(base, rel)
	}
	return nil, err
}

// openOnce opens a folder of the user, and restores the user's choice of its rights.
func (g *Guard) openOnce(base *os.Root, rel string) (*os.Root, error) {
	parent, err := disk.Beneath(base, filepath.Dir(rel))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	name := filepath.Base(rel)
	was, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if _, err := grant(parent, name, 0o700); err != nil {
		return nil, err
	}
	defer func() { // the folder stays open
		_, _ = disk.ChangeMode(parent, name, func(is fs.FileInfo) fs.FileMode {
			if os.SameFile(was, is) {
				return was.Mode()
			}
			return is.Mode()
		})
	}()
	return disk.Beneath(parent, name)
}

// grant gives the owner rights on an entry of a folder, and reports whether it lacked any.
func grant(dir *os.Root, name string, rights fs.FileMode) (changed bool, err error) {
	return disk.ChangeMode(dir, name, func(is fs.FileInfo) fs.FileMode { return is.Mode() | rights })
}

// regain gives the owner all rights on a folder and the folders above it, up to the base. A
// command may have taken them away. It reports whether that changed a right.
func regain(base *os.Root, rel string) (changed bool) {
	if rel == "." {
		changed, _ = grant(base, ".", 0o700) // without it, the folder stays as it is
		return changed
	}
	above := filepath.Dir(rel)
	parent, err := disk.Beneath(base, above)
	if errors.Is(err, fs.ErrPermission) && regain(base, above) {
		changed = true
		parent, err = disk.Beneath(base, above)
	}
	if err != nil {
		return changed
	}
	defer parent.Close()
	granted, err := grant(parent, filepath.Base(rel), 0o700)
	if errors.Is(err, fs.ErrPermission) { // the folder above can be listed but not entered
		if lifted := regain(base, above); lifted {
			changed = true
			granted, _ = grant(parent, filepath.Base(rel), 0o700)
		}
	}
	return changed || granted
}

// move moves a fault aside and records a finding. It reports whether another look can find
// something else.
func (g *Guard) move(path string, r *record, f fault) bool {
	rel, at := filepath.Base(r.rel), path
	if r.folder {
		rel, at = filepath.FromSlash(f.entry), filepath.Join(path, filepath.FromSlash(f.entry))
	}
	if r.trusted == nil {
		r.trusted = map[string]bool{}
	}
	finding := Finding{Path: at, Why: f.why}
	if r.mayBeUsers {
		r.trusted[f.id] = true // reported once
		finding.Why += "; it may be yours, since settle had not looked at it before the command, and stays" +
			" where it is: look at it before you run git there"
		g.findings = append(g.findings, finding)
		return false
	}
	dir, rel, err := g.inspected(r, f, rel)
	if err != nil {
		return exchanged(err)
	}
	defer dir.Close()
	moved, err := g.aside(dir, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false // moved with another fault of the same entry
	case exchanged(err):
		return true
	case err != nil && r.condemned[f.id]:
		return false // reported once
	case err != nil:
		g.emptyInstead(dir, rel, &finding, err)
		if r.condemned == nil {
			r.condemned = map[string]bool{}
		}
		r.condemned[f.id] = true // it never counts as the user's
	default:
		finding.Moved = filepath.Join(filepath.Dir(at), filepath.Base(moved))
	}
	g.findings = append(g.findings, finding)
	return err == nil
}

// inspected opens the folder that the faults of a repository were found in, and returns the
// path of a fault in it. A repository that cannot be looked at is an entry of its folder.
func (g *Guard) inspected(r *record, f fault, rel string) (*os.Root, string, error) {
	folder := r.rel
	if !r.folder || f.entry == "" {
		folder, rel = filepath.Dir(r.rel), filepath.Base(r.rel)
	}
	dir, err := g.open(g.bases[r.base], folder)
	if err != nil {
		return nil, "", err
	}
	if is := identity(dir); is == nil || r.inspected == nil || !os.SameFile(is, r.inspected) {
		dir.Close()
		return nil, "", errExchanged
	}
	return dir, rel, nil
}

// emptyInstead empties an entry that cannot be moved aside, and reports that in the finding.
func (g *Guard) emptyInstead(dir *os.Root, rel string, finding *Finding, why error) {
	finding.Why += fmt.Sprintf("; it could not be moved aside (%v)", why)
	parent, err := g.open(dir, filepath.Dir(rel))
	if err == nil {
		err = empty(parent, filepath.Base(rel))
		parent.Close()
	}
	if err != nil {
		finding.Why += fmt.Sprintf(" and not emptied (%v), so git would still obey it: run no git there", err)
		return
	}
	finding.Why += ", so settle has emptied it: look at it before you run git there"
}

// moveAbove moves aside a path by which git would find a repository above a base.
func (g *Guard) moveAbove(path string) {
	finding := Finding{Path: path, Why: "git would take it for the repository of the folders below"}
	g.obeyed[path] = true // reported once
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err == nil {
		defer dir.Close()
		finding.Moved, err = renameAside(dir, filepath.Base(path))
	}
	switch {
	case exchanged(err):
		g.obeyed[path] = false
		return
	case err != nil:
		finding.Moved = ""
		finding.Why += fmt.Sprintf("; it could not be moved aside (%v): run no git there", err)
	default:
		g.obeyed[path] = false
		finding.Moved = filepath.Join(filepath.Dir(path), finding.Moved)
	}
	g.findings = append(g.findings, finding)
}

// moveObeyed moves aside a path that git would run or obey, or the first link on the way to it.
// The path had no links when it was recorded.
func (g *Guard) moveObeyed(obeyed string) {
	if slices.Contains(g.area.Above, obeyed) {
		g.moveAbove(obeyed)
		return
	}
	for base, root := range g.bases {
		rel, err := filepath.Rel(base, obeyed)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		path := obeyed
		if link := firstLink(root, rel); link != "" {
			rel, path = link, filepath.Join(base, link) // nobody's work behind the link moves
		}
		finding := Finding{
			Path: path,
			Why: "git or another program of the user would run or obey it:" +
				" a configuration names it, or a link leads to it",
		}
		if isPython(obeyed) {
			finding.Why += "; to give git a virtual environment, make it outside of the sandbox"
		}
		switch moved, err := g.aside(root, rel); {
		case exchanged(err):
			continue
		case err == nil:
			finding.Moved = filepath.Join(base, moved)
		default:
			finding.Why += fmt.Sprintf("; it could not be moved aside (%v)", err)
			g.obeyed[obeyed] = true
		}
		g.findings = append(g.findings, finding)
	}
}

// firstLink returns the first link above the last name of a path below an open folder; "" for
// none.
func firstLink(dir *os.Root, rel string) string {
	names := strings.Split(filepath.ToSlash(rel), "/")
	for n := 1; n < len(names); n++ {
		at := filepath.Join(names[:n]...)
		info, err := dir.Lstat(at)
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}

// aside renames a path below an open folder, and returns its new path. A command may have
// taken away the right to change the folder.
func (g *Guard) aside(dir *os.Root, rel string) (string, error) {
	parent, err := g.open(dir, filepath.Dir(rel))
	if err != nil {
		return "", err
	}
	defer parent.Close()
	moved, err := renameAside(parent, filepath.Base(rel))
	if errors.Is(err, fs.ErrPermission) && regain(dir, filepath.Dir(rel)) {
		moved, err = renameAside(parent, filepath.Base(rel))
	}
	return filepath.Join(filepath.Dir(rel), moved), err
}

func renameAside(dir *os.Root, name string) (string, error) {
	if _, err := dir.Lstat(name); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		suffix := fmt.Sprintf("-quarantined-%d", n)
		to := disk.Shorten(name, suffix) + suffix
		if _, err := dir.Lstat(to); err == nil {
			continue
		}
		return to, dir.Rename(name, to)
	}
}

// empty takes away the content of an entry that cannot be moved aside: of a file, and of the
// files in a folder. Git finds no program in them.
func empty(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return truncate(dir, name, info)
	case !info.IsDir():
		return dir.Remove(name)
	}
	below, err := disk.Beneath(dir, name)
	if err != nil {
		return err
	}
	defer below.Close()
	file, err := below.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	list, err := file.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	for _, entry := range list {
		err = errors.Join(err, empty(below, entry.Name()))
	}
	return err
}

// truncate empties the file that was described.
func truncate(dir *os.Root, name string, was fs.FileInfo) (err error) {
	if _, err := grant(dir, name, 0o600); err != nil {
		return err
	}
	file, err := dir.OpenFile(name, os.O_WRONLY|disk.NonBlocking, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if is, err := file.Stat(); err != nil || !os.SameFile(was, is) {
		return errors.Join(errExchanged, err)
	}
	return file.Truncate(0)
}
