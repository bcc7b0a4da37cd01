package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/event"
)

// ChangedError reports that a path no longer leads to the place of its decision. Nothing was
// read or written.
type ChangedError struct {
	Path string // for display
	Why  string // the difference
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q is not what it was when this call was decided: %s. Nothing was read or written. "+
		"Make the call again: it is then decided again", e.Path, e.Why)
}

// Place is the target of an absolute path.
type Place struct {
	// Named is the absolute, clean path, and Shown its form for messages: relative to the
	// session's directory if it lies in it.
	Named, Shown string
	// Real is the canonical path, without links. It need not exist.
	Real string

	inside bool    // in the session's directory
	judged bool    // the place comes from a decision
	shared bool    // the decision was about a file with several names
	mounts *Mounts // the allowed mounts; nil for all

	workDir *WorkDir // the place is opened beneath it, if it is not nil
}

// Decide returns the place of an absolute path, for a decision.
func Decide(path string) (event.ResolvedPath, error) {
	real, err := Resolve(path)
	if err != nil {
		return event.ResolvedPath{Path: filepath.Clean(path)}, err // without a target
	}
	info, err := os.Lstat(real)
	return event.ResolvedPath{Path: filepath.Clean(path), Real: real, Shared: err == nil && Shared(info)}, nil
}

// Locate returns the place that a decision resolved for a path in a session's directory. If
// judged is nil, no decision was made about the call's paths, and the place is the path's
// current target.
func Locate(dir, path string, judged []event.ResolvedPath) (Place, error) {
	return locate(nil, dir, path, judged)
}

func locate(held *WorkDir, dir, path string, judged []event.ResolvedPath) (Place, error) {
	named, err := Absolute(dir, path)
	if err != nil {
		return Place{}, err
	}
	p := Place{Named: named, Shown: Display(dir, named), judged: judged != nil, workDir: held}
	real, top, err := held.resolve(dir, named)
	if err != nil {
		return Place{}, fmt.Errorf("cannot find %q: %w", path, err)
	}
	p.Real, p.inside = real, top != "" && Within(top, real)
	if !p.judged {
		return p, nil
	}
	for _, j := range judged {
		switch {
		case j.Path != named:
			continue
		case j.Real == "":
			return Place{}, p.changed("its links led nowhere then")
		case j.Real != real && j.Real == named:
			return Place{}, p.changed(
				fmt.Sprintf(
					"no link was seen in it then, and it leads to %q by a link now; name that path itself if it is meant",
					real,
				),
			)
		case j.Real != real:
			return Place{}, p.changed(fmt.Sprintf("it led to %q then, and leads to %q now", j.Real, real))
		}
		p.shared = j.Shared
		return p, nil
	}
	return Place{}, p.changed("the decision was about other paths")
}

// ThroughLinks returns the paths that lead through links below a session's directory. A link to
// the directory itself does not count.
func ThroughLinks(dir string, paths []event.ResolvedPath) (linked []event.ResolvedPath) {
	for _, p := range paths {
		if p.Path != p.Real && (p.Real == "" || Display(dir, p.Path) != DisplayReal(dir, p.Real)) {
			linked = append(linked, p)
		}
	}
	return linked
}

// DisplayReal is [Display] for a canonical path.
func DisplayReal(dir, real string) string {
	if top, err := Resolve(dir); err == nil {
		dir = top
	}
	return Display(dir, real)
}

// Arrow returns a path through a link for display, as named and as resolved.
func Arrow(dir string, p event.ResolvedPath) string {
	if p.Real == "" {
		return Display(dir, p.Path) + " -> nowhere"
	}
	return Display(dir, p.Path) + " -> " + DisplayReal(dir, p.Real)
}

// At returns the place of a canonical path, such as a recorded one. Links in it are refused.
func At(dir, named, real string) Place {
	return Place{Named: named, Shown: Display(dir, named), Real: real}
}

// Mounted returns the place restricted to the mounts: in the session's directory, it cannot be
// opened on another file system.
func (p Place) Mounted(m *Mounts) Place {
	if p.inside {
		p.mounts = m
	}
	return p
}

func (p Place) changed(why string) error { return &ChangedError{p.Shown, why} }

// Base is the name of the place in its directory.
func (p Place) Base() string { return filepath.Base(p.Real) }

// Dir opens the directory of the place.
func (p Place) Dir() (*Dir, error) { return p.open(filepath.Dir(p.Real)) }

// Tree opens the place, which must be a directory.
func (p Place) Tree() (*Dir, error) { return p.open(p.Real) }

func (p Place) open(path string) (*Dir, error) {
	open := openDir
	if p.workDir != nil {
		open = p.workDir.open
	}
	d, err := open(path, p.mounts)
	if changed := (*ChangedError)(nil); errors.As(err, &changed) {
		return nil, p.changed(changed.Why)
	}
	return d, err
}

// Stat describes the place.
func (p Place) Stat() (fs.FileInfo, error) {
	if filepath.Dir(p.Real) == p.Real {
		return os.Lstat(p.Real)
	}
	d, err := p.Dir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	info, err := d.Lstat(p.Base())
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, p.changed(fmt.Sprintf("%q is a symbolic link now", p.Real))
	}
	return info, err
}

// Judged reports whether the place comes from a decision. Then a file with several names must
// not be used if the decision did not know that; see [Shared].
func (p Place) Judged() bool { return p.judged }

// Open opens the place, which must be a regular file, for reading. A directory is
// [ErrDirectory].
func (p Place) Open() (*os.File, fs.FileInfo, error) {
	d, err := p.Dir()
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	return p.OpenIn(d)
}

// OpenIn opens the place for reading in its open directory.
func (p Place) OpenIn(d *Dir) (*os.File, fs.FileInfo, error) {
	if filepath.Dir(p.Real) == p.Real {
		return nil, nil, fmt.Errorf("%q %w", p.Shown, ErrDirectory)
	}
	f, info, err := d.Open(p.Base())
	if changed := (*ChangedError)(nil); errors.As(err, &changed) {
		return nil, nil, p.changed(changed.Why)
	}
	if err == nil && p.judged && !p.shared && Shared(info) {
		f.Close()
		return nil, nil, p.changed("it is a hard link now, to a file that not everybody may read")
	}
	return f, info, err
}

// MakeDir opens the directory of the place, and creates its missing parts. made are the canonical
// paths of the created directories, from above, also after an error.
func (p Place) MakeDir() (d *Dir, made []string, err error) {
	d, missing, err := p.openAbove()
	for _, path := range slices.Backward(missing) {
		if err != nil {
			break
		}
		parent, name := d, filepath.Base(path)
		if err = parent.Mkdir(name); err == nil {
			made = append(made, path)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			d, err = parent.Sub(name)
		}
		parent.Close()
	}
	if changed := (*ChangedError)(nil); errors.As(err, &changed) {
		return nil, made, p.changed(changed.Why)
	}
	return d, made, err
}

// openAbove opens the lowest directory above the place that exists. missing are the canonical paths
// of those below it, from below.
func (p Place) openAbove() (d *Dir, missing []string, err error) {
	path := filepath.Dir(p.Real)
	d, err = p.open(path)
	for errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		missing = append(missing, path)
		path = filepath.Dir(path)
		d, err = p.open(path)
	}
	return d, missing, err
}

// MissingDirs returns the canonical paths of the directories above the place that do not exist, from
// above.
func (p Place) MissingDirs() []string {
	d, missing, err := p.openAbove()
	if err != nil {
		return nil
	}
	d.Close()
	slices.Reverse(missing)
	return missing
}
