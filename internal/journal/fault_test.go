package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
)

// faultyDisk is a File with faults. It counts written and allocated bytes against a capacity, as a
// disk does.
type faultyDisk struct {
	File
	mu        sync.Mutex
	capacity  int64 // bytes; 0 is enough
	size      int64 // end of the written part
	allocated int64 // end of the allocated part
	writes    error // returned by writes, after half of the bytes
	syncs     error // returned by syncs
	synced    int
	unable    bool // to allocate
}

// wrap makes d the disk of the next log that is opened with the options.
func (d *faultyDisk) wrap(f File) File {
	if d.File == nil { // else it is a file that keeps cut bytes
		d.File = f
	}
	return d
}

func (d *faultyDisk) WriteAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes != nil {
		n, _ := d.File.WriteAt(p[:len(p)/2], off)
		return n, d.writes
	}
	end := off + int64(len(p))
	if room := max(d.capacity, d.allocated); d.capacity > 0 && end > room {
		n, err := d.File.WriteAt(p[:max(room-off, 0)], off)
		return n, errors.Join(err, syscall.ENOSPC)
	}
	d.size = max(d.size, end)
	return d.File.WriteAt(p, off)
}

func (d *faultyDisk) Allocate(off, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.unable:
		return fmt.Errorf("allocate: %w", errors.ErrUnsupported)
	case d.capacity > 0 && off+size > d.capacity:
		d.allocated = min(d.allocated, max(off, d.size)) // as tmpfs does
		return &os.PathError{Op: "allocate", Err: syscall.ENOSPC}
	}
	d.allocated = max(d.allocated, off+size)
	return nil
}

func (d *faultyDisk) Truncate(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size, d.allocated = size, size
	return d.File.Truncate(size)
}

func (d *faultyDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced++
	return d.syncs
}

func (d *faultyDisk) SyncName() error { return nil }

// fill takes all free space, except the allocated part.
func (d *faultyDisk) fill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = d.size
}

func (d *faultyDisk) breaks(writes, syncs error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes, d.syncs = writes, syncs
}

// stored returns the events in the session's file, and checks that they fold.
func stored(t *testing.T, dir string) []event.Event {
	t.Helper()
	var state event.State
	events := collect(t, Read(t.Context(), dir, "s1", 0))
	for _, e := range events {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	return events
}

func wantFailed(t *testing.T, l *Log, err, cause error) {
	t.Helper()
	var failed *FailedError
	if !errors.As(err, &failed) || !errors.Is(err, cause) {
		t.Fatalf("got %v, want a FailedError because of %v", err, cause)
	}
	select {
	case <-l.Failed():
	default:
		t.Fatal("Failed() is not closed")
	}
}

func TestFsyncOnlyWhenAsked(t *testing.T) {
	d := &faultyDisk{}
	l, _ := open(t, Options{Dir: t.TempDir(), Wrap: d.wrap})
	begin(t, l)
	for range 10 {
		update(t, l, delta("x"))
	}
	closeLog(t, l)
	diff(t, "syncs", 2, d.synced) // session.opened, input.accepted
}

func TestBrokenDisk(t *testing.T) {
	for _, c := range []struct {
		name          string
		writes, syncs error
	}{
		{"a write", syscall.EIO, nil},
		{"a short write", io.ErrShortWrite, nil},
		{"a sync", nil, syscall.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, dir := &faultyDisk{}, t.TempDir()
			l, _ := open(t, Options{Dir: dir, Wrap: d.wrap})
			begin(t, l)
			update(t, l, delta("kept "))
			collectUntil(t, l, 6)
			d.breaks(c.writes, c.syncs)
			err := l.Update(endings(event.Abort(event.Interrupted, "user")))
			wantFailed(t, l, err, errors.Join(c.writes, c.syncs).(interface{ Unwrap() []error }).Unwrap()[0])
			closeLog(t, l)
			live := collect(t, l.Events(t.Context(), 6))
			diff(
				t,
				"published",
				[]string{"item.ended (volatile)", "attempt.ended (volatile)", "turn.aborted (volatile)"},
				texts(live),
			)

			// The earlier events are complete, and the session continues.
			again, opened := open(t, Options{Dir: dir})
			if c.writes != nil && (opened.Damage != "" || again.Seq() != 6) {
				t.Fatalf("%d events, %+v", again.Seq(), opened)
			}
			closeLog(t, again)
		})
	}
}

// ENOSPC: the turn still gets its endings into the log, whole.
func TestFullDisk(t *testing.T) {
	d, dir := &faultyDisk{}, t.TempDir()
	l, _ := open(t, Options{Dir: dir, Wrap: d.wrap})
	begin(t, l)
	text := strings.Repeat("an answer so long that its ending needs more than the base of the reserve. ", 4000)
	for piece := range strings.SplitAfterSeq(text, ". ") {
		update(t, l, delta(piece))
	}
	collectUntil(t, l, l.Seq())
	d.fill()
	for l.Err() == nil { // until the disk's edge is reached
		if err := l.Update(one(delta("more of it. "))); err != nil {
			break
		}
		text += "more of it. "
	}
	<-l.Failed()
	if !errors.Is(l.Err(), syscall.ENOSPC) {
		t.Fatalf("got %v", l.Err())
	}
	l.View(func(s event.State) { text = s.Running().Item("i000001").Content().Text })
	err := l.Update(endings(event.Fail(&event.Failure{Name: event.NameJournal, Message: l.Err().Error()})))
	wantFailed(t, l, err, syscall.ENOSPC)
	closeLog(t, l)

	events := stored(t, dir)
	ended := events[len(events)-3].Data.(event.ItemEnded)
	if last := events[len(events)-1]; last.Kind() != event.KindTurnFailed || last.Volatile || ended.Text != text {
		t.Fatalf(
			"the log ends with %v, and %d of %d bytes of text",
			texts(events[len(events)-3:]),
			len(ended.Text),
			len(text),
		)
	}
	if d.allocated > d.size {
		t.Errorf("%d bytes are still allocated", d.allocated-d.size)
	}
}

// Where nothing can be reserved, a full disk still leaves whole records.
func TestFullDiskWithoutReserve(t *testing.T) {
	d, dir := &faultyDisk{unable: true}, t.TempDir()
	l, _ := open(t, Options{Dir: dir, Wrap: d.wrap})
	begin(t, l)
	collectUntil(t, l, 5)
	d.mu.Lock()
	d.capacity = d.size + 300
	d.mu.Unlock()
	for l.Err() == nil {
		_ = l.Update(one(delta("more of it. ")))
	}
	wantFailed(t, l, l.Update(endings(event.Abort(event.Shutdown, "host"))), syscall.ENOSPC)
	closeLog(t, l)
	if n := len(stored(t, dir)); n < 5 {
		t.Fatalf("%d events are left", n)
	}
}

func TestReserveEndsWithTheTurn(t *testing.T) {
	d := &faultyDisk{}
	l, _ := open(t, Options{Dir: t.TempDir(), Wrap: d.wrap})
	begin(t, l)
	collectUntil(t, l, 5)
	if got := d.allocated - d.size; got < reserveBase {
		t.Errorf("%d bytes are reserved for the endings", got)
	}
	if err := l.Update(endings(event.Abort(event.Interrupted, "user"))); err != nil {
		t.Fatal(err)
	}
	if d.allocated > d.size {
		t.Errorf("%d bytes are still allocated", d.allocated-d.size)
	}
	closeLog(t, l)
}

func TestDiskTooFullToOpen(t *testing.T) {
	raw, _ := written(t)
	torn := raw[:len(raw)-1]
	for name, raw := range map[string][]byte{"new": nil, "torn": torn} {
		dir := place(t, raw)
		refuse := func(f File) File { return &faultyDisk{File: f, writes: syscall.ENOSPC} }
		_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1", Wrap: refuse})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: got %v", name, err)
		}
		if all, err := List(dir); err != nil || len(all) > 0 != (name == "torn") {
			t.Fatalf("%s: there are sessions %v, %v", name, all, err)
		}
		l, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1"}) // there is room again
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "torn" && l.Seq() == 0 {
			t.Fatal("the log was lost")
		}
		if err := l.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that fails for a while ends no session: the log is written again when it
// can be, with all that was shown meanwhile, and nobody sees an event twice.
func TestReopenAfterAnError(t *testing.T) {
	for _, c := range []struct {
		name          string
		writes, syncs error
	}{
		{"a write", syscall.EIO, nil},
		{"a sync", nil, syscall.EIO},
		{"no room", syscall.ENOSPC, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, dir := &faultyDisk{}, t.TempDir()
			l, _ := open(t, Options{Dir: dir, Wrap: d.wrap})
			seen := make(chan []event.Event, 1)
			go func() { seen <- collect(t, l.Events(t.Context(), 0)) }() // ends with the log
			begin(t, l)
			update(t, l, delta("kept "))
			collectUntil(t, l, 6)
			d.breaks(c.writes, c.syncs)
			wantFailed(
				t, l, l.Update(endings(event.Abort(event.Interrupted, "user"))),
				errors.Join(c.writes, c.syncs).(interface{ Unwrap() []error }).Unwrap()[0],
			)
			failed := l.Failed()
			if err := l.Reopen(); err == nil || l.Err() == nil {
				t.Fatalf("it is broken still, and reopened: %v, %v", err, l.Err())
			}
			d.breaks(nil, nil)
			if err := l.Reopen(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-l.Failed():
				t.Error("it counts as failed")
			case <-failed: // as it was then
			}
			update(t, l, event.Event{By: "user", Data: event.InputAccepted{Input: "n000002", Text: "go on"}})
			diff(t, "numbers", l.Seq(), uint64(len(stored(t, dir))))
			closeLog(t, l)
			for n, e := range <-seen {
				if e.Seq != uint64(n+1) {
					t.Fatalf("event %d came as number %d", e.Seq, n+1)
				}
			}
			again, opened := open(t, Options{Dir: dir})
			if s := stateOf(t, again); opened.Damage != "" || len(s.Turns) != 1 || s.Turns[0].Cause == nil ||
				len(s.Waiting) != 1 {
				t.Errorf("%+v, %+v", opened, s)
			}
			closeLog(t, again)
		})
	}
}
