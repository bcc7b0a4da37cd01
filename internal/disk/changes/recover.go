package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// recover writes the records of the calls that a killed host left, and of those whose results the
// host may not have stored, and removes its base.
func (r *Recorder) recover(ctx context.Context) error {
	l, err := readBase(r.baseDir())
	if l == nil || err != nil {
		return errors.Join(err, os.RemoveAll(r.baseDir()))
	}
	for _, c := range l.ended {
		intend(r.config.Store, c.opened, c.Record)
	}
	if len(l.open) == 0 {
		return os.RemoveAll(r.baseDir())
	}
	root, err := r.config.Dir.Open()
	if err != nil {
		return err
	}
	defer root.Close()
	records := l.records(ctx, root, r.config)
	for i, c := range l.open {
		keep(r.config.Store, l.Get, records[i].Files)
		intend(r.config.Store, c, records[i])
	}
	return os.RemoveAll(r.baseDir())
}

// CutCalls are the records of calls that a killed host left, or whose results it may not have
// stored, and that no host has recovered yet.
type CutCalls struct {
	ended []endedCall
	copies
}

// Cut returns the records of the calls that a killed host left; nil if there is no base. It
// changes nothing.
func Cut(ctx context.Context, c Config, root *disk.Dir) *CutCalls {
	c.Limits = c.Limits.withDefaults()
	l, err := readBase(c.Store.BaseDir())
	if l == nil || err != nil {
		return nil
	}
	cut := &CutCalls{l.ended, l.copies}
	for i, record := range l.records(ctx, root, c) {
		cut.ended = append(cut.ended, endedCall{l.open[i], record})
	}
	return cut
}

// Intended returns the detail of a call with its record, like the function that
// [disk.ContentStore.Intents] returns.
func (c *CutCalls) Intended(call string, arguments []byte) json.RawMessage {
	for _, one := range slices.Backward(c.ended) {
		if one.Call == call && one.Arguments == disk.Sum(arguments) {
			return one.Record.AddTo(nil)
		}
	}
	return nil
}

// copies are the contents of a leftover base.
type copies struct {
	at   map[string]span
	pack string // path of the contents
}

// Get returns an earlier content, or a [disk.MissingError].
func (c *copies) Get(sum string) ([]byte, error) {
	at, ok := c.at[sum]
	if !ok {
		return nil, &disk.MissingError{SHA256: sum}
	}
	pack, err := os.Open(c.pack)
	if err != nil {
		return nil, err
	}
	defer func() { _ = pack.Close() }() // it was only read
	return readSpan(pack, at, sum)
}

// records returns a record for each open call. The last call has the changes, since the log does
// not say which call made them.
func (l *leftover) records(ctx context.Context, root *disk.Dir, c Config) []Record {
	if len(l.open) == 0 {
		return nil
	}
	changes, err := l.compare(ctx, root, c)
	out := make([]Record, len(l.open))
	for i, one := range l.open {
		out[i] = Record{At: l.alive.UTC(), Files: []Change{}}
		if err != nil {
			out[i].Why = err.Error()
		}
		for _, parallel := range l.open {
			if parallel.Call != one.Call {
				out[i].With = append(out[i].With, parallel.Call)
			}
		}
	}
	out[len(out)-1].add(changes)
	return out
}

// checkPlace rejects a directory that is not the one in which the host worked: its files say
// nothing about the calls.
func (l *leftover) checkPlace(root *disk.Dir) error {
	here, err := placeOf(root)
	if err != nil {
		return err
	}
	for _, call := range l.open {
		switch {
		case call.Dir == "":
			return errors.New("settle was killed, and its directory is unknown")
		case call.Dir != here.Dir:
			return fmt.Errorf("settle was killed while it worked in another directory, %s", call.Dir)
		case call.place != here:
			return fmt.Errorf("settle was killed, and %s is another directory now", call.Dir)
		}
	}
	return nil
}

// compare returns the changes since the base. A change after the host's last sign of life cannot
// be undone, because another program can have made it after the host's end. For a deleted file there
// is no such time: to bring it back destroys nothing.
func (l *leftover) compare(ctx context.Context, root *disk.Dir, c Config) ([]Change, error) {
	if err := l.checkPlace(root); err != nil {
		return nil, err
	}
	w, err := tour(ctx, root, c.Limits, below(root.Path(), c.DataDir))
	if err != nil {
		return nil, err
	}
	reading := copier{root: root, limits: c.Limits, until: time.Now().Add(c.Limits.Time), old: l.tree, after: true}
	now, err := reading.complete(ctx, w)
	if err != nil {
		return nil, err
	}
	l.tree.at = l.open[0].At
	all := compare(l.tree, now)
	latest := l.alive.Add(-clockStep).UnixNano() // files get their times from a coarse clock
	for n := range all {
		if all[n].After == nil || hasCTime && !l.isLater(w, now, all[n].Path, latest) {
			continue
		}
		all[n].Why = "it may have been changed after settle had been killed"
	}
	return all, nil
}

// isLater reports whether a present entry may have come to its path, or may have been changed,
// after latest, in ns. Moving a directory changes only its own ctime, not the ctime of the files in
// it. So the directories above the entry also count, unless they were there before the call: the
// ctime of such a directory changes with each new entry.
func (l *leftover) isLater(w walk, now *tree, name string, latest int64) bool {
	if w.nodes[name].CTime > latest || now.entries[name].CTime > latest { // at the walk, and when it was read
		return true
	}
	for name = path.Dir(name); name != "."; name = path.Dir(name) {
		is, isKnown := w.nodes[name]
		if !isKnown || is.CTime > latest && !l.tree.entry(name).isDirectory(is) {
			return true
		}
	}
	return false
}

// isDirectory reports whether the entry is the directory n, with any permissions and times.
func (e *entry) isDirectory(n node) bool {
	return e != nil && e.Kind == Directory && e.Inode == n.Inode && e.Device == n.Device
}
