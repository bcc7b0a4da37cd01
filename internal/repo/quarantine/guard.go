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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/disk"
)

// Area is the set of paths that a sandboxed command can change.
type Area struct {
	// Look are the folders that looks read, absolute and without links; Hidden are folders
	// that looks do not read, because no one runs git there.
	Look, Hidden []string
	// Keep are folders of repositories that no command can change, such as the repository
	// of the working directory. Looks do not read them.
	Keep []string
	// Obeyed are absent paths, without links, that git or another program of the user would obey.
	Obeyed []string
	// Named are existing paths, without links, that a configuration of git names as the place of
	// what git runs or obeys.
	Named []string
	// Above are paths outside of Look by which git would find a repository above a folder of
	// Look. New ones are moved aside.
	Above []string
	// Configs are the configurations of git that hold for every repository, paths or results
	// of [Given], and Home is the user's home directory.
	Configs []string
	Home    string
	// Unjudged, if set in the area of the first command, describes files that no guard has judged.
	Unjudged *Unjudged
}

// IsShared reports whether every user may make files in a folder, as in /tmp: the files there are
// not only this user's, and are left alone.
func IsShared(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeSticky != 0 && info.Mode().Perm()&0o002 != 0
}

// Finding is a moved path, or a path that no look could read.
type Finding struct {
	Path, Moved string // the path before and after the move
	Why         string

	look lookNotice // set instead for a finding about a look
}

// lookNotice is a finding about a look.
type lookNotice string

const (
	lookCut      lookNotice = "cut"
	lookComplete lookNotice = "complete" // a look completed after one that was cut
)

// String is the text for people and models.
func (f Finding) String() string {
	if f.Moved == "" {
		return spelled(f.Path) + ": " + spelled(f.Why)
	}
	return fmt.Sprintf("%s is now %s: %s", spelled(f.Path), spelled(filepath.Base(f.Moved)), spelled(f.Why))
}

// maxSpelled bounds the bytes of a name in a finding.
const maxSpelled = 600

// spelled spells out characters that a terminal or a reader would not show: a command chose the
// names.
func spelled(text string) string {
	if len(text) > maxSpelled {
		text = text[:maxSpelled/2] + " … " + text[len(text)-maxSpelled/2:]
	}
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsGraphic(r) }) {
		return text
	}
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Guard checks the folders that sandboxed commands can change. It is safe for concurrent
// use.
//
// The context of its call and the constants in look.go bound each look. A look that was cut
// reports it (C22): until a later look has read everything, no new file counts as the
// user's.
type Guard struct {
	// lock holds a token while a goroutine uses the fields below. A waiting call can stop
	// waiting.
	lock     chan struct{}
	limits   limits
	area     Area
	bases    map[string]*os.Root
	running  int                // number of commands
	known    map[string]*record // repositories by path
	obeyed   map[string]bool    // existing paths of Area.Obeyed
	pythons  map[string]bool    // paths of Area.Obeyed at which the user had a link to an interpreter
	named    map[string]bool    // the paths of Area.Named; nil before the first
	links    map[string]*link   // by their path
	users    map[string]bool    // the work trees of the user's repositories
	watch    *watcher           // nil if no new names are reported
	findings []Finding          // findings that no call has received
	closed   bool
	trusting bool  // existing files count as the user's
	look     *look // the current look
	// cutReason is the reason why the last look did not read everything while a command
	// ran, or before it started; nil if it did.
	cutReason error
	// unseenUsers reports that a look at the user's files was cut: a repository that
	// appears later can belong to the user, and is named instead of moved.
	unseenUsers   bool
	needsFullLook bool // the next look must read everything
	cutReported   bool // a call has received the finding that a look was cut

	closing             chan struct{} // closed by Close; cuts the current look
	once                sync.Once
	pointers            atomic.Pointer[Targets]
	cutReportedUnlocked atomic.Bool // a call has received the finding that a look still runs
}

// record is the state of a repository.
type record struct {
	base       string
	rel        string          // path from the base
	folder     bool            // false for a file .git
	links      map[string]bool // links and other irregular files, from its folder
	trusted    map[string]bool // faults that belong to the user
	condemned  map[string]bool // faults that could not be moved aside, which are never trusted
	mayBeUsers bool            // its faults can belong to the user
	// inspected is the folder in which the last inspection found the faults: the folder of
	// the repository, or the folder of the file .git.
	inspected fs.FileInfo
}

// New returns a guard without records.
func New() *Guard {
	return &Guard{
		lock:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		limits:  limits{maxFolders, firstTimeout, lookTimeout, closeTimeout},
		bases:   map[string]*os.Root{},
		known:   map[string]*record{},
		obeyed:  map[string]bool{},
		pythons: map[string]bool{},
		links:   map[string]*link{},
		users:   map[string]bool{},
	}
}

// Enter is called before a command's sandbox is made. If no other command runs, existing
// files belong to the user and are trusted. An error means that ctx ended; the command must
// not start then.
func (g *Guard) Enter(ctx context.Context, a Area) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	if g.closed {
		return nil
	}
	first, timeout := len(g.bases) == 0, g.limits.look
	if first {
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
		g.forget(fresh) // the next command adds them again
		return context.Cause(ctx)
	}
	if cut := g.look.endReason; cut != nil {
		g.cutReason, g.unseenUsers = cut, true
		g.report(g.unfinished(cut))
	}
	if first {
		g.suspect(a.Unjudged)
	}
	g.point()
	g.running++
	return nil
}

// admit records the files that no command can have made as the user's. It first checks
// files of an earlier command that no look has read.
func (g *Guard) admit(fresh []string) {
	switch {
	case g.running > 0 && fresh == nil:
		g.watchNamed()
		return
	case g.running > 0:
		g.watchNamed()
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

// Leave is called when an entered command and all its descendants have ended.
func (g *Guard) Leave() {
	g.lock <- struct{}{} // each holder's time is bounded
	defer g.release()
	if g.running--; !g.closed {
		defer g.begin(context.Background(), g.limits.look)()
		g.examine()
	}
}

// Check looks now, and returns the paths moved since the last call, and a finding if ctx or
// a bound cut the look.
func (g *Guard) Check(ctx context.Context) []Finding {
	if err := g.acquire(ctx); err != nil {
		g.cutReportedUnlocked.Store(true)
		return []Finding{unfinished(nil, errUnderWay)}
	}
	defer g.release()
	// otherwise no new file can come from a command
	if !g.closed && (g.running > 0 || errors.Is(g.cutReason, errCancelled)) {
		defer g.begin(ctx, g.limits.look)()
		g.examine()
	}
	return g.take()
}

// Unsettled reports whether a running sandboxed command, or one whose changes are not judged, could
// have changed the files that git finds at some paths. Without paths, the repository is not known.
func (g *Guard) Unsettled(ctx context.Context, paths ...string) bool {
	if err := g.acquire(ctx); err != nil {
		return true
	}
	defer g.release()
	if g.closed || g.running == 0 && g.cutReason == nil {
		return false
	}
	return len(paths) == 0 ||
		slices.ContainsFunc(paths, func(path string) bool { return !g.kept(path) && g.changeable(path) })
}

// changeable reports whether a command can change a path.
func (g *Guard) changeable(path string) bool {
	return disk.WithinAny(g.area.Look, path) || g.hidden(path)
}

// Pointers returns the entries .git that lead to a kept repository, for its worktrees and
// submodules, and what git runs or obeys in the work trees of other repositories because the
// user's configurations or links name it, as of the last Enter.
func (g *Guard) Pointers() Targets {
	if t := g.pointers.Load(); t != nil {
		return *t
	}
	return Targets{}
}

// point finds the pointers.
func (g *Guard) point() {
	var t Targets
	for path, r := range g.known {
		if r.folder {
			continue
		}
		data, err := read(g.bases[r.base], r.rel)
		to, ok := pointer(data)
		if err != nil || !ok {
			continue
		}
		if target, ok := g.follow(filepath.Dir(path), to); ok && g.kept(target) {
			t.Existing = append(t.Existing, path)
		}
	}
	t = t.With(g.nested())
	g.pointers.Store(&t)
}

// Close looks once more if a command can still run or a look was cut, and ends the watch.
// Its error names the findings that no call has received.
func (g *Guard) Close() error {
	g.once.Do(func() { close(g.closing) })
	g.lock <- struct{}{} // the current look ends
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

// extend adds the paths that only this command can change.
func (g *Guard) extend(a Area) (fresh []string) {
	if g.running > 0 { // a running command may have made it
		a.Keep = slices.DeleteFunc(
			slices.Clone(a.Keep), func(path string) bool { return !g.kept(path) && g.changeable(path) },
		)
	}
	look := g.area.Look
	g.area = a
	g.area.Look = look
	for _, path := range a.Look {
		if root, known := g.bases[path]; known {
			if is, err := os.Stat(path); err == nil && os.SameFile(is, identity(root)) {
				continue
			}
			g.forget([]string{path}) // the folder was made again
		}
		root, err := os.OpenRoot(path)
		if err != nil {
			continue // there is nothing to change
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

// forget removes the paths that extend added.
func (g *Guard) forget(bases []string) {
	for _, path := range bases {
		_ = g.bases[path].Close()
		delete(g.bases, path)
	}
	ended := func(base string) bool { return slices.Contains(bases, base) }
	g.area.Look = slices.DeleteFunc(g.area.Look, ended)
	maps.DeleteFunc(g.known, func(_ string, r *record) bool { return ended(r.base) })
	maps.DeleteFunc(g.links, func(_ string, l *link) bool { return ended(l.base) })
	g.watch.forget(ended)
}

// update reads the changes since the last look.
func (g *Guard) update() {
	if g.cutReason == nil && !g.needsFullLook && g.watch.read(g) || g.look.mustEnd() {
		return
	}
	if g.watch != nil { // the kernel dropped names, or not all names were read
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

// trust records files in some of the bases as the user's. alone reports that no command
// runs that could have made them.
func (g *Guard) trust(bases []string, alone bool) {
	for path, r := range maps.Clone(g.known) {
		if !slices.Contains(bases, r.base) {
			continue
		}
		faults := g.faults(path, r)
		if r.mayBeUsers = g.look.mustEnd(); r.mayBeUsers {
			continue // the user's files are unknown
		}
		r.trusted = map[string]bool{}
		for _, f := range faults {
			r.trusted[f.id] = !r.condemned[f.id]
		}
		g.users[topOf(path)] = true
	}
	g.trustLinks(bases)
	if alone {
		g.named = setOf(g.area.Named)
	}
	before := g.obeyed
	g.obeyed = map[string]bool{}
	if !alone { // a running command may have made what was absent
		maps.Copy(g.obeyed, before)
	}
	for _, path := range slices.Concat(g.area.Obeyed, g.area.Above, g.nested().Absent) {
		_, err := os.Lstat(path)
		existed, known := before[path]
		isUsers := err == nil && (alone || existed || !known)
		if isUsers && g.isInterpreter(path) {
			g.pythons[path], isUsers = true, false // another file in its place is not the user's
		}
		g.obeyed[path] = isUsers
	}
}

// isInterpreter reports whether a path is a link to an interpreter.
func (g *Guard) isInterpreter(path string) bool {
	links, target := route(path)
	return isInterpreter(links, target, g.changeable)
}

// maxRounds bounds the repeated looks at cleaned repositories.
const maxRounds = 4

// examine moves new faults aside, and reports whether the look read everything.
func (g *Guard) examine() {
	g.update()
	for range maxRounds {
		if !g.moveFaults() {
			break
		}
	}
	g.moveLinks()
	g.moveNewObeyed()
	for path, existed := range g.obeyed {
		if _, err := os.Lstat(path); err == nil && !existed && !(g.pythons[path] && g.isInterpreter(path)) {
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
	// no call has received the finding
	g.findings = slices.DeleteFunc(g.findings, func(f Finding) bool { return f.look == lookCut })
	if reported {
		g.report(g.completed())
	}
}

// moveFaults moves new faults of known repositories aside, and reports whether it moved
// any.
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

// faults returns the current faults of a repository; none if the look ends early. It
// forgets a repository that is gone.
func (g *Guard) faults(path string, r *record) []fault {
	if g.look.mustEnd() {
		return nil
	}
	base := g.bases[r.base]
	parent, err := g.open(base, filepath.Dir(r.rel))
	if err != nil {
		delete(g.known, path)
		return nil
	}
	defer parent.Close()
	info, err := parent.Lstat(filepath.Base(r.rel))
	if err != nil || info.IsDir() != r.folder {
		delete(g.known, path)
		return nil
	}
	at := place{path: path, guard: g, look: g.look}
	if !r.folder {
		at.path = filepath.Dir(path)
		r.inspected = identity(parent)
		return inspectPointer(parent, filepath.Base(r.rel), at)
	}
	dir, err := g.open(base, r.rel)
	switch {
	case exchanged(err):
		return nil // the next look inspects the new entry
	case err != nil:
		r.inspected = identity(parent)
		return []fault{{"", "it cannot be looked at: " + err.Error(), "unreadable"}}
	}
	defer dir.Close()
	r.inspected = identity(dir)
	faults := inspect(dir, at)
	for name := range r.links {
		if info, err := dir.Lstat(name); err != nil || info.Mode().IsRegular() || info.IsDir() {
			delete(r.links, name)
			continue
		}
		target, _ := dir.Readlink(name)
		faults = append(
			faults, fault{name, "its " + name + " is a link, or no ordinary file", "link " + name + " " + target},
		)
		if g.look.mustEnd() {
			break
		}
	}
	if g.look.mustEnd() {
		return nil // the read was incomplete
	}
	return faults
}

func (g *Guard) looked(path string) bool { return disk.WithinAny(g.area.Look, path) && !g.kept(path) }

func (g *Guard) kept(path string) bool { return disk.WithinAny(g.area.Keep, path) }

// hidden reports whether a command can change a path that looks do not read. A folder that
// looks read can be in a hidden one, such as a working directory in a shared folder.
func (g *Guard) hidden(path string) bool {
	longest := func(folders []string) (n int) {
		for _, folder := range folders {
			if disk.Within(folder, path) {
				n = max(n, len(folder))
			}
		}
		return n
	}
	return longest(g.area.Hidden) > longest(g.area.Look)
}

// outermost are the folders that are in no other folder of the list.
func outermost(folders []string) (out []string) {
	for _, folder := range folders {
		others := slices.DeleteFunc(slices.Clone(folders), func(f string) bool { return f == folder })
		if !disk.WithinAny(others, folder) {
			out = append(out, folder)
		}
	}
	return out
}

// isGit reports whether a file system could read a name as ".git": in another case, with
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
