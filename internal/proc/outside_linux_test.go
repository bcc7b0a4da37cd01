package proc

import (
	"errors"
	"testing"
	"time"
)

// Others end a command by its mark: those of its processes as well that have
// cleared their environment, and those that ignore TERM. Whoever keeps it
// learns that.
func TestEndMarked(t *testing.T) {
	p, out := begin(t, sh("trap '' TERM; (setsid env -i /bin/sh -c 'echo ready; sleep 1000; true' &); sleep 1000; sleep 1000"))
	out.await(t, "ready")
	bare := 0
	for _, o := range Marked(p.Mark()) {
		if _, carries := markerOf(o.PID); !carries {
			bare++
		}
		if o.Warden == 0 {
			t.Errorf("without a warden: %+v", o)
		}
	}
	if bare == 0 {
		t.Error("those that cleared their environment are not found")
	}
	if _, _, err := EndMarked(t.Context(), p.Mark()+"x", 0); !errors.Is(err, ErrUnseen) {
		t.Errorf("another mark: %v", err)
	}
	ended, left, err := EndMarked(t.Context(), p.Mark(), 10*time.Millisecond)
	if err != nil || len(left) > 0 || len(ended) < 2 {
		t.Errorf("ended %v, left %v, %v", ended, left, err)
	}
	done(t, p)
	if !p.EndedByOthers() {
		t.Error("whoever keeps it does not know")
	}
	if found := Marked(p.Mark()); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

// What its own host ends, or what exits by itself, was ended by nobody else.
func TestEndedByOthersIsExact(t *testing.T) {
	p, _ := begin(t, sh("sleep 1000"))
	p.End(t.Context(), 0)
	exits, _ := begin(t, sh("true"))
	done(t, exits)
	if p.EndedByOthers() || exits.EndedByOthers() {
		t.Error("nobody else ended it")
	}
}

// Without a warden, those that carry the mark are ended.
func TestEndMarkedWithoutWarden(t *testing.T) {
	spec := sh("(setsid sleep 1000 &); echo ready; sleep 1000")
	out := newSink()
	spec.Stdout = out
	p, err := startGroup(spec)
	if err != nil {
		t.Fatal(err)
	}
	out.await(t, "ready")
	if ended, left, err := EndMarked(t.Context(), p.Mark(), time.Second); err != nil || len(left) > 0 || len(ended) < 2 {
		t.Errorf("ended %v, left %v, %v", ended, left, err)
	}
	done(t, p)
}
