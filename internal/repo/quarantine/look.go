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

// The bounds of a look. The context of its call also ends a look (C9).
const (
	// maxFolders bounds the folders that one look reads.
	maxFolders = 1_000_000
	// maxDepth bounds the depth of folders; findings name deeper ones.
	maxDepth = 1024
	// maxFindings bounds the findings that one call returns.
	maxFindings = 50
	// firstTimeout bounds the look before the first command, which reads everything,
	// possibly from a slow disk.
	firstTimeout = time.Minute
	// lookTimeout bounds every other look.
	lookTimeout = 10 * time.Second
	// closeTimeout bounds the last look.
	closeTimeout = 3 * time.Second
	// batch is the number of entries of a folder that are read at once.
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
	// errCancelled ends a look whose call ended; errUnderWay reports a look that a call
	// does not wait for.
	errCancelled = errors.New("the call ended before")
	errUnderWay  = errors.New("it still looks")
)

// look is one pass over the files that commands can change. A bound or its call can end it
// early.
type look struct {
	ctx       context.Context // the context of the look's call
	closing   <-chan struct{}
	folders   int   // number of folders that it can still read
	endReason error // reason of an early end; nil for none
}

// begin starts a look; end ends it. The caller holds the guard's lock.
func (g *Guard) begin(ctx context.Context, timeout time.Duration) (end func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTooLong)
	g.look = &look{ctx: ctx, closing: g.closing, folders: g.limits.folders}
	return func() {
		cancel()
		g.look = nil
	}
}

// mustEnd reports whether the look must end.
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

// countFolder counts a folder, and reports whether the look must end.
func (l *look) countFolder() bool {
	if l.folders--; l.folders < 0 && l.endReason == nil {
		l.endReason = errTooMany
	}
	return l.mustEnd()
}

// entries calls visit for each entry of a folder until the look ends.
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

// unfinished is the finding of a look that did not read everything that commands can change
// (C22).
func unfinished(looked []string, why error) Finding {
	path := "the folders that commands can change"
	if len(looked) == 1 {
		path = looked[0]
	}
	return Finding{
		Path: path,
		Why: fmt.Sprintf(
			"settle has not looked through all of it (%v); a repository there may run what a sandboxed command left, so run no git there",
			why,
		),
		look: lookCut,
	}
}

func (g *Guard) unfinished(why error) Finding { return unfinished(g.area.Look, why) }

// completed is the finding of a later look that read everything.
func (g *Guard) completed() Finding {
	return Finding{
		Path: unfinished(g.area.Look, nil).Path, Why: "settle has now looked through all of it",
		look: lookComplete,
	}
}

// report replaces the earlier finding about a look, and puts this one first.
func (g *Guard) report(f Finding) {
	g.findings = append([]Finding{f},
		slices.DeleteFunc(g.findings, func(known Finding) bool { return known.look != "" })...)
}

// urgency orders findings: first findings about the look itself, then files that git would still
// obey.
func (f Finding) urgency() int {
	switch {
	case f.look != "":
		return 0
	case f.Moved == "":
		return 1
	}
	return 2
}

// take returns the findings that no call has received, at most maxFindings and a count of
// the rest.
func (g *Guard) take() []Finding {
	list := g.findings
	g.findings = nil
	slices.SortStableFunc(list, func(a, b Finding) int { return a.urgency() - b.urgency() })
	g.cutReported = g.cutReported || slices.ContainsFunc(list, func(f Finding) bool { return f.look == lookCut })
	if rest := len(list) - maxFindings; rest > 0 {
		list = append(list[:maxFindings:maxFindings], Finding{
			Path: unfinished(g.area.Look, nil).Path,
			Why: fmt.Sprintf("%d more findings are not listed: look for *-quarantined-* before you run git there",
				rest),
		})
	}
	return list
}
