package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The bounds of a look. A look also ends with the context of its call (C9).
const (
	// maxFolders bounds the folders that one look goes through.
	maxFolders = 1_000_000
	// maxDepth bounds how deep folders are looked at; deeper ones are named.
	maxDepth = 1024
	// maxFindings bounds what is named at once.
	maxFindings = 50
	// firstTimeout bounds the look before the first command, which goes through
	// everything, and whose files the system may have to read from the disk.
	firstTimeout = time.Minute
	// lookTimeout bounds every other look.
	lookTimeout = 10 * time.Second
	// closeTimeout bounds the last look.
	closeTimeout = 3 * time.Second
	// batch is how many entries of a folder are read at once.
	batch = 1024
)

// limits are the bounds of a guard's looks.
type limits struct {
	folders            int
	first, look, close time.Duration
}

var (
	errTooMany = errors.New("it has too many folders")
	errTooLong = errors.New("it takes too long")
	errTooDeep = errors.New("it is too deep")
	errClosed  = errors.New("the session ends")
	// errCancelled is for a look that ended with its call, errUnderWay for one that a call
	// does not wait for.
	errCancelled = errors.New("the call ended before")
	errUnderWay  = errors.New("it still looks")
)

// look is one pass through what commands can change. It ends early when it is cut.
type look struct {
	ctx       context.Context //nolint:containedctx // it is that of one call, which the look ends with
	closing   <-chan struct{}
	folders   int   // that it can still go through
	endReason error // why the look has ended early; nil if it has not
}

// begin begins a look, which end ends. The guard's lock is held.
func (g *Guard) begin(ctx context.Context, timeout time.Duration) (end func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTooLong)
	g.look = &look{ctx: ctx, closing: g.closing, folders: g.limits.folders}
	return func() {
		cancel()
		g.look = nil
	}
}

// mustEnd reports whether the look has to end.
func (l *look) mustEnd() bool {
	if l.endReason != nil {
		return true
	}
	select {
	case <-l.closing:
		l.endReason = errClosed
	case <-l.ctx.Done():
		if l.endReason = errCancelled; errors.Is(context.Cause(l.ctx), errTooLong) {
			l.endReason = errTooLong
		}
	default:
	}
	return l.endReason != nil
}

// countFolder counts a folder, and reports whether the look has to end.
func (l *look) countFolder() bool {
	if l.folders--; l.folders < 0 && l.endReason == nil {
		l.endReason = errTooMany
	}
	return l.mustEnd()
}

// entries calls visit for each entry of a folder, and ends with the look.
func (l *look) entries(dir *os.File, visit func(os.DirEntry)) error {
	for !l.mustEnd() {
		list, err := dir.ReadDir(batch)
		for _, entry := range list {
			visit(entry)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// acquire takes the guard's lock.
func (g *Guard) acquire(ctx context.Context) error {
	select {
	case g.lock <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Guard) release() { <-g.lock }

// unfinished says that a look has not gone through all that commands can change (C22).
func unfinished(looked []string, why error) Finding {
	path := "the folders that commands can change"
	if len(looked) == 1 {
		path = looked[0]
	}
	return Finding{Path: path, Why: fmt.Sprintf("settle has not looked through all of it (%v); a repository there may run what a sandboxed command left, so run no git there", why), look: lookCut}
}

func (g *Guard) unfinished(why error) Finding { return unfinished(g.area.Look, why) }

// completed says that a later look has gone through everything.
func (g *Guard) completed() Finding {
	return Finding{Path: unfinished(g.area.Look, nil).Path, Why: "settle has now looked through all of it", look: lookComplete}
}

// report replaces what an earlier finding says of a look, and comes first.
func (g *Guard) report(f Finding) {
	g.findings = append([]Finding{f}, slices.DeleteFunc(g.findings, func(known Finding) bool { return known.look != "" })...)
}

// take returns the findings that nobody has taken yet, at most maxFindings and how many
// more there are.
func (g *Guard) take() []Finding {
	list := g.findings
	g.findings = nil
	g.cutReported = g.cutReported || slices.ContainsFunc(list, func(f Finding) bool { return f.look == lookCut })
	if rest := len(list) - maxFindings; rest > 0 {
		list = append(list[:maxFindings:maxFindings], Finding{
			Path: unfinished(g.area.Look, nil).Path, Why: fmt.Sprintf("%d more findings are not listed: look for *-quarantined-* before you run git there", rest),
		})
	}
	return list
}
