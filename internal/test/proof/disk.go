package proof

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// disk keeps a session's records over crashes, encoded, as files do.
type disk struct {
	mu      sync.Mutex
	records [][]byte
	started map[string]bool // items whose call.started is on it
	ended   map[string]bool // turns whose terminal event is on it

	logs    *Logs  // where the records are kept besides; nil if nowhere
	session string // there; "" before a process has opened it
	taken   shelf  // as it was opened last
}

func newDisk(logs *Logs) *disk {
	return &disk{started: map[string]bool{}, ended: map[string]bool{}, logs: logs}
}

// record returns the record of event n, or nil if it is not there.
func (d *disk) record(n uint64) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n < 1 || n > uint64(len(d.records)) {
		return nil
	}
	return d.records[n-1]
}

func (d *disk) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.records)
}

func (d *disk) has(set map[string]bool, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return set[id]
}

// first returns a copy with only the first n records, as after a crash there.
func (d *disk) first(n int) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := newDisk(d.logs)
	c.records = d.records[:n:n]
	return c
}

// events decodes the records on the disk.
func (d *disk) events() ([]event.Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]event.Event, len(d.records))
	for n, raw := range d.records {
		if err := out[n].UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("record %d: %w", n+1, err)
		}
	}
	return out, nil
}

// condition is the condition of a mount.
type condition string

const (
	works  condition = "works"
	full   condition = "full"   // only the space that is reserved for endings is left
	broken condition = "broken" // each write fails
	killed condition = "killed" // no process writes
)

var errKilled = errors.New("the process was killed")

// mount is a disk as one process sees it; the journal's Store.
type mount struct {
	*disk
	shelf   shelf // if the disk has logs
	broke   func(clause, format string, args ...any)
	crashAt int           // dies when the disk has so many records; 0 for never
	died    chan struct{} // closed with condition killed

	mu        sync.Mutex // guards condition; taken before disk.mu
	condition condition
}

func newMount(d *disk, crashAt int, broke func(string, string, ...any)) (*mount, error) {
	m := &mount{disk: d, broke: broke, crashAt: crashAt, condition: works, died: make(chan struct{})}
	if d.logs == nil {
		return m, nil
	}
	var err error
	m.shelf, err = d.take(broke)
	return m, err
}

// Append implements [journal.Store].
func (m *mount) Append(batch []event.Event, sync journal.Sync) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.condition == killed:
		return errKilled
	case m.condition == broken:
		return errors.New("input/output error")
	case m.condition == full && sync != journal.Last:
		return &journal.SpaceError{Err: errors.New("no space left on device")}
	}
	m.synced(batch, sync)
	if m.logs != nil {
		last := batch // before the crash
		if n := m.crashAt - m.len(); n > 0 && n < len(batch) {
			last = batch[:n]
		}
		if err := m.shelf.append(last, sync); err != nil {
			m.broke("C20", "the log is not appended to: %v", err)
			return err
		}
	}
	for _, e := range batch {
		if err := m.write(e); err != nil {
			return err
		}
		if m.len() == m.crashAt {
			m.kill()
			return errKilled
		}
	}
	return nil
}

// synced checks that events are on stable storage before other code relies on them.
func (m *mount) synced(batch []event.Event, sync journal.Sync) {
	if sync != journal.Lazily {
		return
	}
	for _, e := range batch {
		switch e.Data.(type) {
		case event.CallStarted:
			m.broke("C5", "the start of call %s is not on stable storage when the call begins", e.Item)
		case event.InputAccepted:
			m.broke("C19", "an input is not on stable storage when it is accepted")
		case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
			m.broke("C3", "the end of turn %s is not on stable storage when the next may start", e.Turn)
		}
	}
}

func (m *mount) write(e event.Event) error {
	raw, err := e.AppendJSON(nil)
	if err != nil {
		return err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.records = append(m.records, raw)
	if _, ok := e.Data.(event.CallStarted); ok {
		m.started[e.Item] = true
	}
	if e.Terminal() {
		m.ended[e.Turn] = true
	}
	return nil
}

// kill ends the process as far as the disk can tell. The caller holds mu.
func (m *mount) kill() {
	if m.condition != killed {
		m.condition = killed
		close(m.died)
	}
}

// become changes the condition; a killed mount stays killed.
func (m *mount) become(c condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c == killed {
		m.kill()
	} else if m.condition != killed {
		m.condition = c
	}
}

func (m *mount) is(c condition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.condition == c
}

// Read implements [journal.Store].
func (m *mount) Read(ctx context.Context, after uint64) iter.Seq2[event.Event, error] {
	if m.logs != nil {
		return m.stored(ctx, after)
	}
	return func(yield func(event.Event, error) bool) {
		for n := after + 1; ctx.Err() == nil; n++ {
			raw := m.record(n)
			if raw == nil {
				return
			}
			var e event.Event
			if err := e.UnmarshalJSON(raw); err != nil {
				yield(event.Event{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// stored reads the records of the logs.
func (m *mount) stored(ctx context.Context, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		all, err := m.shelf.read(after)
		for _, e := range all {
			if ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(event.Event{}, err)
		}
	}
}

// Close implements [journal.Store].
func (m *mount) Close() error {
	if m.logs == nil {
		return nil
	}
	return m.shelf.close()
}
