package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Area is what a sandboxed command can change.
type Area struct {
	// Look are folders, absolute and without links, that are looked through; Hidden are
	// those that are not, because nobody runs git there.
	Look, Hidden []string
	// Keep are folders of repositories that no command can change, such as the one that
	// the working directory is in. They are not looked through.
	Keep []string
	// Obeyed are paths that the configuration of those names and that do not exist.
	Obeyed []string
}

// Finding is what was moved aside, or could not be looked at.
type Finding struct {
	Path, Moved string // where it was, and where it is
	Why         string

	look lookNotice // what it says of a look instead
}

// lookNotice is what a finding says of a look.
type lookNotice string

const (
	lookCut      lookNotice = "cut"
	lookComplete lookNotice = "complete" // after one that was cut
)

// String is for people and models.
func (f Finding) String() string {
	if f.Moved == "" {
		return f.Path + ": " + f.Why
	}
	return fmt.Sprintf("%s is now %s: %s", f.Path, filepath.Base(f.Moved), f.Why)
}

// Guard looks after the folders that sandboxed commands can change. It is safe for
// concurrent use.
//
// The context of its call and the constants in look.go bound each look. A look that was cut
// says so (C22): until a later look has gone through everything, nothing new counts as the
// user's.
type Guard struct {
	// lock holds a token while a goroutine uses what follows. Whoever waits for it can give up.
	lock     chan struct{}
	limits   limits
	area     Area
	bases    map[string]*os.Root
	running  int                // commands
	known    map[string]*record // repositories, by their path
	obeyed   map[string]bool    // paths of Area.Obeyed that exist
	watch    *watcher           // nil where nothing tells what is new
	findings []Finding          // that nobody has taken yet
	closed   bool
	trusting bool  // what is there is the user's
	look     *look // the one under way
	// cutReason is why the last look did not go through everything while a command ran, or
	// before it started; nil if it did.
	cutReason error
	// unseenUsers says that a look at what is the user's was cut: a repository that appears
	// later may be the user's, and is named and not moved.
	unseenUsers   bool
	needsFullLook bool // the next look has to go through everything
	cutReported   bool // somebody has taken the finding that a look was cut

	closing             chan struct{} // closed by Close, and cuts the look under way
	once                sync.Once
	pointers            atomic.Pointer[[]string]
	cutReportedUnlocked atomic.Bool // a call was told that a look was still under way
}

// record is what is known of a repository.
type record struct {
	base       string
	rel        string          // from the base
	folder     bool            // else it is an entry .git
	links      map[string]bool // links and other odd files in it, from its folder
	trusted    map[string]bool // faults that are the user's
	mayBeUsers bool            // its faults may be the user's
}

// New returns a guard that knows nothing yet.
func New() *Guard {
	return &Guard{
		lock: make(chan struct{}, 1), closing: make(chan struct{}), limits: limits{maxFolders, firstTimeout, lookTimeout, closeTimeout},
		bases: map[string]*os.Root{}, known: map[string]*record{}, obeyed: map[string]bool{},
	}
}

// Enter is for before a command's sandbox is made. If no other one runs, what is there is
// the user's, and is trusted. Its error is why ctx ended; the command must not start then.
func (g *Guard) Enter(ctx context.Context, a Area) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	if g.closed {
		return nil
	}
	timeout := g.limits.look
	if len(g.bases) == 0 {
		timeout = g.limits.first
	}
	defer g.begin(ctx, timeout)()
	g.trusting = true
	a.Look = outermost(a.Look)
	fresh := g.extend(a)
	g.trusting = false
	g.admit(fresh)
	if err := ctx.Err(); err != nil {
		g.needsFullLook = true
		g.forget(fresh) // the next command begins anew
		return context.Cause(ctx)
	}
	if cut := g.look.endReason; cut != nil {
		g.cutReason, g.unseenUsers = cut, true
		g.report(g.unfinished(cut))
	}
	g.point()
	g.running++
	return nil
}

// admit takes for the user's what no command can have made. What an earlier command left
// and no look has seen is judged first.
func (g *Guard) admit(fresh []string) {
	switch {
	case g.running > 0 && fresh == nil:
		return
	case g.running > 0:
		g.update()
		g.trust(fresh, false)
		return
	case g.cutReason != nil:
		g.trust(fresh, false)
		g.examine()
	}
	if g.cutReason != nil {
		return
	}
	g.trusting = true
	g.update()
	g.trust(slices.Collect(maps.Keys(g.bases)), true)
	g.trusting = false
	if g.look.endReason == nil {
		g.unseenUsers = false
	}
}

// Leave is for when a command that Enter was called for is gone, with all that it
// started.
func (g *Guard) Leave() {
	g.lock <- struct{}{} // each holder is bounded
	defer g.release()
	if g.running--; !g.closed {
		defer g.begin(context.Background(), g.limits.look)()
		g.examine()
	}
}

// Check looks now, and returns what was moved aside since the last time, and whether ctx
// or a bound has cut the look.
func (g *Guard) Check(ctx context.Context) []Finding {
	if err := g.acquire(ctx); err != nil {
		g.cutReportedUnlocked.Store(true)
		return []Finding{unfinished(nil, errUnderWay)}
	}
	defer g.release()
	if !g.closed && (g.running > 0 || errors.Is(g.cutReason, errCancelled)) { // else nothing is new that is a command's
		defer g.begin(ctx, g.limits.look)()
		g.examine()
	}
	return g.take()
}

// Pointers returns entries .git that lead to a kept repository, which belong to its
// worktrees and submodules, as they were when the last command entered.
func (g *Guard) Pointers() []string {
	if list := g.pointers.Load(); list != nil {
		return *list
	}
	return nil
}

// point finds the pointers.
func (g *Guard) point() {
	var list []string
	for path, r := range g.known {
		if r.folder {
			continue
		}
		data, err := read(g.bases[r.base], r.rel)
		if to, ok := pointer(data); err == nil && ok && g.kept(resolve(filepath.Dir(path), to)) {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	g.pointers.Store(&list)
}

// Close looks once more, if a command may still run or a look was cut, and ends the watch.
// Its error names what nobody has taken.
func (g *Guard) Close() error {
	g.once.Do(func() { close(g.closing) })
	g.lock <- struct{}{} // the look under way ends
	defer g.release()
	if g.closed {
		return nil
	}
	if g.running > 0 || g.cutReason != nil {
		end := g.begin(context.Background(), g.limits.close)
		g.look.closing = nil
		g.examine()
		end()
	}
	g.closed = true
	for _, root := range g.bases {
		_ = root.Close()
	}
	err := g.watch.close()
	g.watch = nil
	for _, f := range g.take() {
		if f.look != lookComplete {
			err = errors.Join(err, fmt.Errorf("a sandboxed command left something that git would run: %s", f))
		}
	}
	return err
}

// extend takes in what a command can change beyond what others can.
func (g *Guard) extend(a Area) (fresh []string) {
	g.area.Hidden, g.area.Keep, g.area.Obeyed = a.Hidden, a.Keep, a.Obeyed
	for _, path := range a.Look {
		if _, known := g.bases[path]; known {
			continue
		}
		root, err := os.OpenRoot(path)
		if err != nil {
			continue // there is nothing that could be changed
		}
		if len(g.bases) == 0 && g.watch == nil {
			g.watch = newWatcher()
		}
		g.bases[path], fresh = root, append(fresh, path)
		g.area.Look = append(g.area.Look, path)
		if g.watch != nil {
			g.walk(path)
		}
	}
	return fresh
}

// forget takes back what extend has taken in.
func (g *Guard) forget(bases []string) {
	for _, path := range bases {
		_ = g.bases[path].Close()
		delete(g.bases, path)
	}
	gone := func(base string) bool { return slices.Contains(bases, base) }
	g.area.Look = slices.DeleteFunc(g.area.Look, gone)
	maps.DeleteFunc(g.known, func(_ string, r *record) bool { return gone(r.base) })
	g.watch.forget(gone)
}

// update brings what is known up to date.
func (g *Guard) update() {
	if g.cutReason == nil && !g.needsFullLook && g.watch.read(g) || g.look.mustEnd() {
		return
	}
	if g.watch != nil { // more has happened than the kernel could remember, or was looked at
		_ = g.watch.close()
		g.watch = newWatcher()
	}
	for _, r := range g.known {
		clear(r.links)
	}
	for path := range g.bases {
		g.walk(path)
	}
	if g.look.endReason == nil {
		g.needsFullLook = false
	}
}

// trust takes what is in some of the bases for the user's. alone says that no command
// runs that could have made it.
func (g *Guard) trust(bases []string, alone bool) {
	for path, r := range maps.Clone(g.known) {
		if !slices.Contains(bases, r.base) {
			continue
		}
		faults := g.faults(path, r)
		if r.mayBeUsers = g.look.mustEnd(); r.mayBeUsers {
			continue // what is the user's is not known
		}
		r.trusted = map[string]bool{}
		for _, f := range faults {
			r.trusted[f.id] = true
		}
	}
	before := g.obeyed
	g.obeyed = map[string]bool{}
	for _, path := range g.area.Obeyed {
		_, err := os.Lstat(path)
		existed, known := before[path]
		g.obeyed[path] = err == nil && (alone || existed || !known)
	}
}

// maxRounds bounds how often what was cleaned is looked at again.
const maxRounds = 4

// examine moves aside what is new and not harmless, and says whether it has looked at
// everything.
func (g *Guard) examine() {
	g.update()
	for range maxRounds {
		if !g.moveFaults() {
			break
		}
	}
	for path, existed := range g.obeyed {
		if _, err := os.Lstat(path); err == nil && !existed {
			g.moveObeyed(path)
		}
	}
	if g.cutReason = g.look.endReason; g.cutReason != nil {
		g.needsFullLook = true
		g.report(g.unfinished(g.cutReason))
		return
	}
	reported := g.cutReportedUnlocked.Swap(false) || g.cutReported
	g.cutReported = false
	g.findings = slices.DeleteFunc(g.findings, func(f Finding) bool { return f.look == lookCut }) // nobody has seen it
	if reported {
		g.report(g.completed())
	}
}

// moveFaults moves aside what is known, new and not harmless, and reports whether that was
// anything.
func (g *Guard) moveFaults() (moved bool) {
	for _, path := range slices.Sorted(maps.Keys(g.known)) {
		r := g.known[path]
		if r == nil {
			continue
		}
		for _, f := range g.faults(path, r) {
			if !r.trusted[f.id] {
				moved = g.move(path, r, f) || moved
			}
		}
		if g.look.mustEnd() {
			return false
		}
	}
	return moved
}

// faults are those of a repository as it is now; none if the look ends meanwhile. A
// repository that is gone is forgotten.
func (g *Guard) faults(path string, r *record) []fault {
	if g.look.mustEnd() {
		return nil
	}
	base := g.bases[r.base]
	info, err := base.Lstat(r.rel)
	if err != nil || info.IsDir() != r.folder {
		delete(g.known, path)
		return nil
	}
	at := place{path: path, look: g.look, looked: g.looked, hidden: g.hidden, kept: g.kept}
	if !r.folder {
		at.path = filepath.Dir(path)
		parent, err := base.OpenRoot(filepath.Dir(r.rel))
		if err != nil {
			return nil
		}
		defer parent.Close()
		return inspectPointer(parent, filepath.Base(r.rel), at)
	}
	dir, err := g.open(base, r.rel)
	if err != nil {
		return []fault{{"", "it cannot be looked at: " + err.Error(), "unreadable"}}
	}
	defer dir.Close()
	faults := inspect(dir, at)
	for name := range r.links {
		if info, err := dir.Lstat(name); err != nil || info.Mode().IsRegular() || info.IsDir() {
			delete(r.links, name)
			continue
		}
		target, _ := dir.Readlink(name)
		faults = append(faults, fault{name, "its " + name + " is a link, or no ordinary file", "link " + name + " " + target})
		if g.look.mustEnd() {
			break
		}
	}
	if g.look.mustEnd() {
		return nil // what was read of them says too little
	}
	return faults
}

// open opens a folder, also one that its owner took the right to list from. A command
// could hide a repository in it.
func (g *Guard) open(base *os.Root, rel string) (*os.Root, error) {
	dir, err := base.OpenRoot(rel)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return dir, err
	}
	info, failed := base.Lstat(rel)
	if failed != nil || !info.IsDir() || base.Chmod(rel, info.Mode().Perm()|0o700) != nil {
		return nil, err
	}
	if g.trusting {
		defer func() { _ = base.Chmod(rel, info.Mode().Perm()) }() // the user wants it so
	}
	return base.OpenRoot(rel)
}

// move moves what has a fault aside, and notes that.
func (g *Guard) move(path string, r *record, f fault) bool {
	base, rel, at := g.bases[r.base], r.rel, path
	if r.folder {
		rel, at = filepath.Join(r.rel, filepath.FromSlash(f.entry)), filepath.Join(path, filepath.FromSlash(f.entry))
	}
	if r.trusted == nil {
		r.trusted = map[string]bool{}
	}
	if r.mayBeUsers {
		r.trusted[f.id] = true // it is said once
		g.findings = append(g.findings, Finding{Path: at, Why: f.why + "; it may be yours, since settle had not looked at it before the command, and stays where it is: look at it before you run git there"})
		return false
	}
	moved, err := aside(base, rel)
	finding := Finding{Path: at, Why: f.why}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false // with another fault of the same
	case err != nil:
		finding.Why += fmt.Sprintf("; it could not be moved aside (%v): run no git there", err)
		r.trusted[f.id] = true // it is said once
	default:
		finding.Moved = filepath.Join(r.base, moved)
	}
	g.findings = append(g.findings, finding)
	return err == nil
}

func (g *Guard) moveObeyed(path string) {
	for base, root := range g.bases {
		rel, err := filepath.Rel(base, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		finding := Finding{Path: path, Why: "the configuration of the user's repository names it, so that git would run or obey it"}
		if moved, err := aside(root, rel); err == nil {
			finding.Moved = filepath.Join(base, moved)
		} else {
			finding.Why += fmt.Sprintf("; it could not be moved aside (%v)", err)
			g.obeyed[path] = true
		}
		g.findings = append(g.findings, finding)
	}
}

// aside renames a path, and returns its new name.
func aside(base *os.Root, rel string) (string, error) {
	if _, err := base.Lstat(rel); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s-quarantined-%d", rel, n)
		if _, err := base.Lstat(to); err == nil {
			continue
		}
		return to, base.Rename(rel, to)
	}
}

func (g *Guard) looked(path string) bool { return within(g.area.Look, path) && !g.kept(path) }

func (g *Guard) kept(path string) bool { return within(g.area.Keep, path) }

func (g *Guard) hidden(path string) bool { return within(g.area.Hidden, path) }

// within reports whether a path is one of the folders or below one.
func within(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// outermost are the folders that no other one holds.
func outermost(folders []string) (out []string) {
	for _, folder := range folders {
		others := slices.DeleteFunc(slices.Clone(folders), func(other string) bool { return other == folder })
		if !within(others, folder) {
			out = append(out, folder)
		}
	}
	return out
}

// isGit reports whether a name may be ".git" to some file system: in other cases, with
// characters that HFS+ ignores, or in the short form of FAT.
func isGit(name string) bool {
	if strings.EqualFold(name, "git~1") {
		return true
	}
	visible := strings.Map(func(r rune) rune {
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	return strings.EqualFold(strings.TrimRight(visible, " ."), ".git")
}
