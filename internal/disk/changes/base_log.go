package changes

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record writes to the log how t differs from the tree that the log has. active are the running
// calls.
func (b *base) record(t *tree, active []opened) error {
	if b.skips == nil { // a new log
		for _, call := range active {
			b.write(line{Begin: &call})
		}
		for _, call := range b.ended {
			b.write(line{End: call.Call, Ended: &call})
		}
	}
	for name := range b.logged {
		if t.entries[name] == nil {
			b.write(line{Path: name})
			delete(b.logged, name)
		}
	}
	for name, e := range t.entries {
		if b.logged[name] == e {
			continue
		}
		l := line{Path: name, Entry: e}
		if at, ok := b.at[e.SHA256]; ok && e.kept {
			l.At = &at
		}
		b.write(l)
		b.logged[name] = e
	}
	if b.skips == nil || !maps.Equal(b.skips, t.skipped) {
		b.write(line{Skipped: append([]string{}, slices.Sorted(maps.Keys(t.skipped))...)})
		b.skips = t.skipped
	}
	err := b.out.Flush()
	for _, name := range b.stale {
		err = errors.Join(err, os.Remove(name))
	}
	b.stale = nil
	return err
}

// leftover is the base of a host that was killed.
type leftover struct {
	tree  *tree
	open  []opened    // calls without an end
	ended []endedCall // calls whose result is perhaps not in the session's log
	alive time.Time
	copies
}

// maxLine bounds a line of the log, in bytes.
const maxLine = 16 << 20

// readBase reads the base in a directory; nil if there is none.
func readBase(dir string) (*leftover, error) {
	all, err := os.ReadDir(dir)
	if err != nil || len(all) == 0 {
		return nil, nil // there is none
	}
	var numbers []int
	for _, e := range all {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), logName)); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, number := range slices.Backward(numbers) {
		l, isComplete, err := readLog(dir, number)
		if err != nil || isComplete || number == numbers[0] {
			return l, err
		}
	}
	return nil, errors.New("the copies of the tree have no log")
}

// readLog reads the log of that number. A log that settle did not finish is not complete: the one before it
// has all that is known.
func readLog(dir string, number int) (l *leftover, isComplete bool, err error) {
	name := filepath.Join(dir, logName+strconv.Itoa(number))
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	l = &leftover{
		tree: &tree{entries: map[string]*entry{}, skipped: map[string]bool{}}, alive: info.ModTime(),
		copies: copies{map[string]span{}, filepath.Join(dir, packName+strconv.Itoa(number))},
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var one line
		if json.Unmarshal(lines.Bytes(), &one) == nil { // a torn last line
			l.add(one)
			isComplete = isComplete || one.Skipped != nil // the last line of a new log
		}
	}
	return l, isComplete, lines.Err()
}

func (l *leftover) add(one line) {
	switch {
	case one.Begin != nil:
		l.open = append(l.open, *one.Begin)
	case one.End != "":
		if one.Ended != nil {
			l.ended = append(l.ended, *one.Ended)
		}
		l.open = slices.DeleteFunc(l.open, func(o opened) bool { return o.Call == one.End })
	case one.Skipped != nil:
		l.tree.skipped = map[string]bool{}
		for _, name := range one.Skipped {
			l.tree.skipped[name] = true
		}
	case one.Entry != nil:
		e := one.Entry
		if e.kept = one.At != nil; e.kept {
			l.at[e.SHA256] = *one.At
		} else if e.Kind == File {
			e.why = "its earlier content was not copied: it was too large, or settle had no time left"
		}
		l.tree.entries[one.Path] = e
	case one.Path != "":
		delete(l.tree.entries, one.Path)
	}
}
