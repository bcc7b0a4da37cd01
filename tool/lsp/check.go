package lsp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxReported bounds the errors of a note, maxText the message of each in bytes, and
	// maxShown the path of a file in a result.
	maxReported = 10
	maxText     = 300
	maxShown    = 500
	// maxSettling bounds the wait for further errors after the edited files were judged.
	maxSettling = 2 * time.Second
	// maxLoading bounds the wait for the end of reported work of the project's loading, and
	// minWorking is the least bound for that of an edit: a server can report a begin without an end.
	maxLoading = time.Minute
	minWorking = 3 * time.Second
)

// examine sends edits to the server and returns the note about its errors, with all errors
// that are known once the note is delivered.
func (s *server) examine(ctx context.Context, edits []Edit) (note string, current map[errorKey]int, err error) {
	if err := s.follow(ctx, edits); err != nil {
		return "", nil, err
	}
	judged, isLoaded := edits, true
	if s.known == nil {
		judged = s.withUndelivered(edits)
		if isLoaded, err = s.baseline(ctx, judged); err != nil {
			return "", nil, err
		}
	}
	s.doesNow("it checks the edit")
	isChecked, err := s.checks(ctx, judged)
	if err != nil {
		return "", nil, err
	}
	found := s.conn.found.all()
	current = count(found)
	note = s.note(found, edits)
	if s.conn.found.isCut() {
		note += "\nit reports more errors than settle can compare: some can be missing here"
	}
	if !isLoaded || !isChecked {
		note += "\nit has not finished its work: errors can be missing here, or be from before the edit"
	}
	return note, current, nil
}

// checks gives the server the edited texts and waits for its errors. A server that reports its
// work judges the texts when they are saved once more: gopls finds the package of a new file
// only after it has published errors for the first time. isComplete is as for settled.
func (s *server) checks(ctx context.Context, edits []Edit) (isComplete bool, err error) {
	wanted, after := map[string]int{}, s.conn.found.serial()
	var open []string
	for _, e := range edits {
		uri := uriOf(e.Path)
		if e.After == nil {
			if err := s.close(ctx, uri); err != nil {
				return false, err
			}
			continue
		}
		changed, err := s.put(ctx, e.Path, e.After)
		if err != nil {
			return false, err
		}
		if changed || s.conn.found.isStale(uri) {
			wanted[uri] = s.texts[uri].version
		}
		open = append(open, uri)
	}
	if s.language.Work != "" {
		if _, err := s.settled(ctx, wanted, after, s.maxWork()); err != nil {
			return false, err
		}
	}
	for _, uri := range open {
		saved := map[string]any{"textDocument": map[string]string{"uri": uri}}
		if err := s.conn.notify(ctx, "textDocument/didSave", saved); err != nil {
			return false, err
		}
	}
	return s.settled(ctx, wanted, after, s.maxWork())
}

// withUndelivered returns the edits that a new server judges: edits whose errors the model has not
// received, each from its first text to its last one.
func (s *server) withUndelivered(edits []Edit) (all []Edit) {
	for _, path := range slices.Sorted(maps.Keys(s.undelivered)) {
		all = append(all, s.undelivered[path])
	}
	for _, e := range edits {
		if _, kept := s.undelivered[e.Path]; !kept {
			all = append(all, e)
		}
	}
	return all
}

// baseline has the server judge the texts from before the first edits, so that their errors
// are not new. A file that did not exist is empty. isComplete is as for settled.
func (s *server) baseline(ctx context.Context, edits []Edit) (isComplete bool, err error) {
	s.doesNow("it loads the project")
	wanted, after, created := map[string]int{}, s.conn.found.serial(), map[string]bool{}
	for _, e := range edits {
		uri := uriOf(e.Path)
		if e.Before == nil {
			created[e.Path] = true
		}
		changed, err := s.put(ctx, e.Path, e.Before)
		if err != nil {
			return false, err
		}
		if changed {
			wanted[uri] = s.texts[uri].version
		}
	}
	if isComplete, err = s.settled(ctx, wanted, after, maxLoading); err != nil {
		return false, err
	}
	s.known = count(slices.DeleteFunc(s.conn.found.all(), func(f finding) bool { return created[f.path] }))
	return isComplete, nil
}

// follow sends the server the files that changed since the last job, and forgets texts that differ
// from the files on disk.
func (s *server) follow(ctx context.Context, edits []Edit) error {
	now, isComplete := scan(s.config.Dir, &s.language)
	events := compare(s.disk, now, isComplete)
	if isComplete {
		s.disk = now
	} else {
		maps.Copy(s.disk, now)
	}
	edited := map[string]bool{}
	for _, e := range edits {
		edited[uriOf(e.Path)] = true
	}
	for _, e := range events {
		if _, open := s.texts[e.URI]; open && !edited[e.URI] {
			if err := s.close(ctx, e.URI); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	return s.conn.notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": events})
}

// put gives the server the text of a file. Changed is false if it has the text.
func (s *server) put(ctx context.Context, path string, content []byte) (changed bool, err error) {
	uri, sum := uriOf(path), sha256.Sum256(content)
	now, open := s.texts[uri]
	if open && now.sum == sum {
		return false, nil
	}
	s.count++ // not anew for a file that is opened again: publications about it as it was are stale
	next := text{version: s.count, sum: sum, hasEarlier: open}
	valid := strings.ToValidUTF8(string(content), "\uFFFD")
	method, params := "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": s.language.id(path), "version": next.version, "text": valid,
	}}
	if open {
		method, params = "textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uri, "version": next.version},
			"contentChanges": []any{map[string]string{"text": valid}},
		}
	}
	s.conn.found.opened(uri, next.version)
	if err := s.conn.notify(ctx, method, params); err != nil {
		return false, err
	}
	s.texts[uri] = next
	return true, nil
}

// close makes the server read a file from the disk.
func (s *server) close(ctx context.Context, uri string) error {
	if _, open := s.texts[uri]; !open {
		return nil
	}
	delete(s.texts, uri)
	s.conn.found.closed(uri)
	return s.conn.notify(
		ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": uri}},
	)
}

// maxWork bounds one wait for the end of reported work of an edit. There can be two: before the save,
// and after it.
func (s *server) maxWork() time.Duration { return max(minWorking, s.config.Timeout/2) }

// settled waits until the server has judged the texts, and has ended the work that it
// reports for them. A server that does not report it for each message must also publish
// nothing for a while: errors in other files follow. isComplete is false if such a server
// still works at maxWork after it judged the texts.
func (s *server) settled(
	ctx context.Context, wanted map[string]int, after int, maxWork time.Duration,
) (isComplete bool, err error) {
	found := s.conn.found
	quiet := time.NewTimer(jobTimeout)
	defer quiet.Stop()
	var end, workEnd time.Time
	for {
		ended, isExact := found.worked(s.conn.sent)
		switch covered := found.covers(wanted, after); {
		case ended && isExact && covered:
			return true, nil
		case ended && isExact:
			return false, errors.New("it published nothing about the edited files")
		case ended && covered:
			if end.IsZero() {
				end = time.Now().Add(maxSettling)
			}
			quiet.Reset(min(s.language.Quiet, max(time.Until(end), 0)))
		case covered && s.language.Work == "":
			if workEnd.IsZero() {
				workEnd = time.Now().Add(maxWork)
			}
			quiet.Reset(max(time.Until(workEnd), 0))
		default:
			quiet.Reset(jobTimeout)
		}
		select {
		case <-found.changed:
		case <-quiet.C:
			return ended, nil
		case <-s.conn.drained:
			return false, s.conn.failure()
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// count counts equal errors.
func count(found []finding) map[errorKey]int {
	counts := map[errorKey]int{}
	for _, f := range found {
		counts[f.key()]++
	}
	return counts
}

// note describes the errors that are not known, errors in edited files first.
func (s *server) note(found []finding, edits []Edit) string {
	edited := map[string]bool{}
	for _, e := range edits {
		edited[e.Path] = true
	}
	rank := func(f finding) int {
		if edited[f.path] {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.path, b.path), a.line-b.line, a.column-b.column,
			cmp.Compare(a.message, b.message))
	})
	known := maps.Clone(s.known)
	var fresh []finding
	for _, f := range found {
		if known[f.key()] > 0 {
			known[f.key()]--
			continue
		}
		fresh = append(fresh, f)
	}
	earlier := len(found) - len(fresh)
	name := s.language.Name
	if len(fresh) == 0 {
		if earlier > 0 {
			return fmt.Sprintf("%s: no new errors (%d from before)", name, earlier)
		}
		return name + ": no new errors"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d new errors", name, len(fresh))
	if len(fresh) == 1 {
		out.Reset()
		out.WriteString(name + ": 1 new error")
	}
	for _, f := range fresh[:min(len(fresh), maxReported)] {
		message := clip(terminal.OneLine(f.message), maxText)
		fmt.Fprintf(&out, "\n%s:%d:%d: %s", s.shown(f.path), f.line, f.column, message)
	}
	if more := len(fresh) - maxReported; more > 0 {
		fmt.Fprintf(&out, "\nand %d more", more)
	}
	if slices.ContainsFunc(fresh, s.isDoubtful) {
		out.WriteString("\nit does not name versions of a text: errors of a changed file can be from before the edit")
	}
	return out.String()
}

// isDoubtful reports whether an error can be about an earlier text of its file.
func (s *server) isDoubtful(f finding) bool {
	uri := uriOf(f.path)
	return s.texts[uri].hasEarlier && !s.conn.found.hasVersion(uri)
}

// shown returns a path as the model names it, clipped.
func (s *server) shown(path string) string { return shown(s.config.Dir, path) }

func shown(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return clip(terminal.OneLine(path), maxShown)
}
