package proc

import (
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
)

// Another process ends a command by its record, also processes of the command that have cleared
// their environment, and processes that ignore TERM. The command's keeper learns of the end.
func TestEndRecorded(t *testing.T) {
	p, out := begin(
		t, sh("trap '' TERM; (setsid env -i /bin/sh -c 'echo ready; sleep 1000; true' &); sleep 1000; sleep 1000"),
	)
	out.await(t, "ready")
	record := p.Record(p.PID())
	bare := 0
	for _, o := range record.Processes() {
		if _, carries := markerOf(o.PID); !carries {
			bare++
		}
	}
	if bare == 0 {
		t.Error("those that cleared their environment are not found")
	}
	ended, left, err := record.End(t.Context(), 10*time.Millisecond)
	if err != nil || len(left) > 0 || len(ended) < 2 {
		t.Errorf("ended %v, left %v, %v", ended, left, err)
	}
	done(t, p)
	if !p.EndedByOthers() {
		t.Error("whoever keeps it does not know")
	}
	if found := record.Processes(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

// C23: another process that was given a number, or has copied the environment, is
// not signalled.
func TestEndRecordedSignalsNobodyElse(t *testing.T) {
	p, _ := begin(t, sh("exec sleep 1000"))
	innocent := exec.Command("sleep", "1000")
	innocent.Env = []string{MarkerName + "=" + p.mark}
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = innocent.Process.Kill()
		_ = innocent.Wait()
	}()
	reused := *Identify(innocent.Process.Pid)
	reused.Started--
	if ended, _, err := (RecordedCommand{Process: &reused, Keeper: &reused, Mark: p.mark}).End(t.Context(), 0); !errors.Is(
		err, ErrNotFound,
	) {
		t.Errorf("ended %v, %v", ended, err)
	}
	_, left, err := p.Record(p.PID()).End(t.Context(), 0)
	if err == nil || !slices.ContainsFunc(left, func(l event.Process) bool { return l.PID == innocent.Process.Pid }) {
		t.Errorf("left %v, %v", left, err)
	}
	done(t, p)
	if n, ok := readProcess(innocent.Process.Pid); !ok || n.zombie() {
		t.Error("a process with a copied environment was ended")
	}
	if p.Record(innocent.Process.Pid).Process != nil {
		t.Error("a process that is not the command's is recorded as one")
	}
}

// A process that its own host ends, or that exits by itself, is not reported as ended by another
// host.
func TestEndedByOthersIsExact(t *testing.T) {
	p, _ := begin(t, sh("sleep 1000"))
	p.End(t.Context(), 0)
	exits, _ := begin(t, sh("true"))
	done(t, exits)
	if p.EndedByOthers() || exits.EndedByOthers() {
		t.Error("nobody else ended it")
	}
}

// Without a supervisor, the command's session is ended.
func TestEndRecordedWithoutSupervisor(t *testing.T) {
	spec := sh("(sleep 1000 &); echo ready; sleep 1000")
	out := newSink()
	spec.Stdout = out
	p, err := startGroup(spec)
	if err != nil {
		t.Fatal(err)
	}
	out.await(t, "ready")
	if ended, left, err := p.Record(p.PID()).End(t.Context(), time.Second); err != nil || len(left) > 0 ||
		len(ended) < 2 {
		t.Errorf("ended %v, left %v, %v", ended, left, err)
	}
	done(t, p)
}

// Processes that the command starts while it is being ended belong to it too, although its leader
// is gone before the next look.
func TestEndRecordedWhileItForks(t *testing.T) {
	spec := sh("echo ready; i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i+1)); done; wait")
	out := newSink()
	spec.Stdout = out
	p, err := startGroup(spec)
	if err != nil {
		t.Fatal(err)
	}
	out.await(t, "ready")
	if _, left, err := p.Record(p.PID()).End(t.Context(), time.Second); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	done(t, p)
}
