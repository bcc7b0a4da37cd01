//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest"
)

// Another process ends a job of a run that goes on, which has it on record.
func TestKillJobOfAnother(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(
			modeltest.Call("shell", `{"command":"(trap '' TERM; setsid sh -c 'sleep 96.5; true' >/dev/null 2>&1 &)"}`),
		),
		modeltest.Reply(modeltest.Call("shell", `{"command":"echo awake > fifo; read -r line < answer"}`)),
		modeltest.Say("done"),
	))
	awake := p.fifo("fifo")
	p.fifo("answer")
	run := p.run(server, "--session", "s", "go")
	started(t, run)
	awake()
	if got := p.says("jobs"); !strings.HasPrefix(got, "s/j000001  running  pid ") ||
		!strings.Contains(got, "sleep 96.5") {
		t.Errorf("jobs: %q", got)
	}
	if got := p.says("jobs", "kill", "j000001"); !strings.HasPrefix(got, "ended job s/j000001: process ") {
		t.Errorf("jobs kill: %q", got)
	}
	awaitNoProcess(t, "sleep 96.5")
	state, err := journal.Load(p.data, "s")
	if err != nil || len(state.Jobs) != 1 || state.Jobs[0].Ended == nil || state.Jobs[0].Ended.How != event.JobKilled {
		t.Errorf("the log: %v, %+v", err, state.Jobs)
	}
	if got := p.says("jobs"); got != "" {
		t.Errorf("jobs: %q", got)
	}
	if err := os.WriteFile(filepath.Join(p.work, "answer"), []byte("go on\n"), 0); err != nil {
		t.Fatal(err)
	}
	exited(t, run, 0)
}

// An interrupt keeps jobs, which then are released here, or ends them.
func TestJobsOnInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		setting, seconds string
		how              event.JobEnd
	}{
		{"keep", "98.5", event.JobReleased},
		{"end", "99.5", event.JobKilled},
	} {
		t.Run(tt.setting, func(t *testing.T) {
			p := newPlace(t)
			p.configure("[jobs]\non_exit = \"release\"\non_interrupt = \"" + tt.setting + "\"\n")
			server := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(modeltest.Call("shell", `{"command":"sleep `+tt.seconds+` >/dev/null 2>&1 &"}`)),
				modeltest.Reply(modeltest.Call("shell", `{"command":"echo awake > fifo; sleep `+tt.seconds+`9"}`)),
			))
			awake := p.fifo("fifo")
			run := p.run(server, "--session", "s", "go")
			started(t, run)
			awake()
			signalled(t, run, os.Interrupt)
			exited(t, run, 130)
			awaitNoProcess(t, "sleep "+tt.seconds+"9")
			state, err := journal.Load(p.data, "s")
			if err != nil || len(state.Jobs) != 1 || state.Jobs[0].Ended == nil || state.Jobs[0].Ended.How != tt.how {
				t.Errorf("the log: %v, %+v", err, state.Jobs)
			}
			if tt.how == event.JobReleased {
				p.says("jobs", "kill", "s/j000001")
			}
			awaitNoProcess(t, "sleep "+tt.seconds)
		})
	}
}
