//go:build unix

package proof

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/worker"
)

// signallingLogs are logs that send the worker a signal as soon as a session that it has
// begun has a number of events. Sessions that others began do not count.
type signallingLogs struct {
	worker.Logs
	at     uint64
	signal syscall.Signal
	once   sync.Once
}

// newSignallingLogs returns logs that signal as the text says: "12 9" is event 12, SIGKILL.
func newSignallingLogs(logs worker.Logs, text string) (worker.Logs, error) {
	if text == "" {
		return logs, nil
	}
	m := &signallingLogs{Logs: logs}
	_, err := fmt.Sscan(text, &m.at, (*int)(&m.signal))
	return m, err
}

// deathNotice is the line that the worker prints before the signal.
const deathNotice = "this is my last event"

// OpenLog implements [settle.Logs].
func (m *signallingLogs) OpenLog(ctx context.Context, session string) (settle.Log, error) {
	log, err := m.Logs.OpenLog(ctx, session)
	if err != nil {
		return nil, err
	}
	for _, err := range log.Read(ctx, 0) {
		return log, err // it has events
	}
	return &signallingLog{log, m}, nil
}

type signallingLog struct {
	settle.Log
	of *signallingLogs
}

// Append implements [settle.Log]: the event is durable, and nothing after it.
func (l *signallingLog) Append(events []event.Event, d settle.Durability) error {
	n := int(l.of.at) - int(events[0].Seq) + 1
	if n < 1 || n > len(events) {
		return l.Log.Append(events, d)
	}
	if err := l.Log.Append(events[:n], settle.Durably); err != nil {
		return err
	}
	l.of.once.Do(func() {
		fmt.Fprintln(os.Stderr, deathNotice)
		_ = syscall.Kill(os.Getpid(), l.of.signal) // never fails
	})
	if n == len(events) {
		return nil
	}
	return l.Log.Append(events[n:], d)
}

// TestDeathAtEveryEvent: a worker is killed right after the n-th event of a turn, for
// each n, and another one stopped there until others have its task. Each task has ended
// once and completed, and no call ran twice.
func TestDeathAtEveryEvent(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	defer c.end()
	c.place.Submit(t, fleet.Task{Session: "whole", Prompt: "work", Dir: c.work})
	c.start()
	c.place.Await(ctx, t)
	c.retire(c.running[0])
	type last struct {
		event int
		with  syscall.Signal
	}
	var ends []last
	for n := 1; n < len(c.place.Events(t, "whole")); n += *every { // after the last one there is nothing to lose
		ends = append(ends, last{n, syscall.SIGKILL}, last{n, syscall.SIGSTOP})
	}
	c.tasks(len(ends))
	began, dead := time.Now(), map[*process][]string{}
	for n := 0; c.countOpen(ctx) > 0; {
		for len(c.running) < workers {
			if n == len(ends) {
				c.start(slotsVar + "=1") // it lives on
				continue
			}
			p := c.start(slotsVar+"=1", fmt.Sprintf("%s=%d %d", endVar, ends[n].event, ends[n].with))
			p.stops = ends[n].with == syscall.SIGSTOP
			n++
		}
		c.removeDead(ctx, dead)
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf(
		"%d turns in %s, and %d workers that died or were stopped",
		len(ends),
		time.Since(began).Round(time.Second),
		len(dead),
	)
	c.check(c.place.Await(ctx, t))
	c.awaitRefusals(ctx)
	if len(dead) < len(ends)*9/10 { // some turns are shorter
		t.Errorf("only %d of %d workers came to their last event", len(dead), len(ends))
	}
}

// removeDead removes the workers from the crew that have reached their last event, and notes their
// tasks. Workers that were only stopped continue when other workers have these tasks, and end.
func (c *crew) removeDead(ctx context.Context, dead map[*process][]string) {
	for _, p := range slices.Clone(c.running) {
		if _, known := dead[p]; known || !strings.Contains(p.stderrText(), deathNotice) {
			continue
		}
		dead[p] = c.tasksOf(ctx, p.id)
		c.running = slices.DeleteFunc(c.running, func(q *process) bool { return q == p })
		c.deaths = append(c.deaths, death{pid: p.cmd.Process.Pid, at: time.Now(), until: time.Now().Add(time.Hour)})
	}
	for p, had := range dead {
		if !p.stops || len(c.tasksOf(ctx, p.id)) > 0 {
			continue
		}
		p.stops = false
		p.signal(syscall.SIGCONT)
		if c.countMoved(ctx, had, p.id) > 0 { // else it had just said how they ended
			c.woken = append(c.woken, p)
		}
		c.retire(p)
	}
}
