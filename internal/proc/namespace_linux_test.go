package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/sandbox"
)

// alone is a command that may do everything, with processes of its own; false where
// namespaces are not to be had.
func alone(t *testing.T, script string) (Spec, bool) {
	t.Helper()
	if _, err := Prove(t.Context(), sandbox.Policy{OwnProcesses: true}, nil); err != nil {
		t.Logf("not claimed here: %v", err)
		return Spec{}, false
	}
	spec := sh(script)
	spec.Sandbox = &sandbox.Policy{
		Read:         []string{"/"},
		Write:        []string{"/"},
		Network:      sandbox.Online,
		OwnProcesses: true,
	}
	return spec, true
}

// C22: such a command sees its own processes, its watching process, and no others.
func TestOwnProcessesAreTheOnlyOnes(t *testing.T) {
	spec, ok := alone(t, `sleep 1000 & echo "own $! self $$"; cat /proc/[0-9]*/comm; echo end; wait`)
	if !ok {
		return
	}
	p, out := begin(t, spec)
	out.await(t, "end\n")
	first, rest, _ := strings.Cut(out.String(), "\n")
	var own, self int
	if _, err := fmt.Sscanf(first, "own %d self %d", &own, &self); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, name := range strings.Fields(rest) {
		counts[name]++
	}
	if counts["sleep"] > 1 || counts["sh"] < 1 || counts[supervisorName[:min(15, len(supervisorName))]] != 1 ||
		len(counts) > 5 {
		t.Errorf("it sees %v", counts)
	}
	if self < 1000 || own < 1000 {
		t.Errorf("the numbers %d and %d are those of every other call", self, own)
	}
	if self == p.PID() {
		t.Errorf("the number is the host's")
	}
}

// C7, C23: reported PIDs are the host's, and all processes that the command has started end.
func TestOwnProcessesEnd(t *testing.T) {
	spec, ok := alone(
		t,
		`(setsid sh -c 'trap "" TERM; sleep 1000' &); (setsid sh -c 'setsid sleep 1000 &' &); trap '' TERM; echo ready; sleep 1000; sleep 1000`,
	)
	if !ok {
		return
	}
	p, out := begin(t, spec)
	out.await(t, "ready\n")
	if line := commandLine(p.PID()); !strings.Contains(line, "echo ready") {
		t.Errorf("process %d is %q", p.PID(), line)
	}
	tree := descendants(parentOf(t, p.PID()))
	if len(tree) < 3 {
		t.Errorf("only %v", tree)
	}
	if left := p.End(t.Context(), 0); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	for _, n := range tree {
		if now, ok := readProcess(n.pid); ok && now.started == n.started {
			t.Errorf("%+v is there", now)
		}
	}
}

// The remaining processes of a command are reported with the host's PIDs, and run until they are
// ended.
func TestOwnProcessesLeft(t *testing.T) {
	spec, ok := alone(t, "setsid sleep 1000 & echo left")
	if !ok {
		return
	}
	spec.Rest = KeepRest
	p, out := begin(t, spec)
	out.await(t, "left\n")
	wait(t, p)
	rest := p.Rest()
	if len(rest) != 1 || !strings.Contains(commandLine(rest[0].PID), "sleep 1000") {
		t.Fatalf("rest %v", rest)
	}
	n, ok := readProcess(rest[0].PID)
	if left := p.End(t.Context(), 0); len(left) > 0 || !ok {
		t.Errorf("left %v", left)
	}
	if now, ok := readProcess(n.pid); ok && now.started == n.started {
		t.Errorf("%+v is there", now)
	}
}

// C7: with the supervisor, all ends, by the kernel's hand.
func TestOwnProcessesEndWithTheirSupervisor(t *testing.T) {
	spec, ok := alone(t, "(setsid env -i sleep 1000 &); echo ready; sleep 1000")
	if !ok {
		return
	}
	p, out := begin(t, spec)
	out.await(t, "ready\n")
	supervisor := parentOf(t, p.PID())
	tree := descendants(supervisor)
	if err := unix.Kill(supervisor, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	done(t, p)
	for _, n := range tree {
		if now, ok := readProcess(n.pid); ok && now.started == n.started && !now.zombie() {
			t.Errorf("%+v is there", now)
		}
	}
}

// A supervisor that is the first process of no namespace hides nothing, and says so.
func TestOwnProcessesTakeANamespace(t *testing.T) {
	if os.Getpid() == 1 {
		return
	}
	_, err := sandbox.Enter(sandbox.Policy{OwnProcesses: true, Read: []string{"/"}})
	if err == nil || sandbox.Check() == nil && !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("entered: %v", err)
	}
}
