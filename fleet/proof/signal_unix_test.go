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

// mortal are logs with which a worker gets a signal as soon as a session that it has
// begun has a number of events. Sessions that others began do not count.
type mortal struct {
	worker.Logs
	at     uint64
	signal syscall.Signal
	once   sync.Once
}

// mortalLogs are what the variable says, as in "12 9": event 12, SIGKILL.
func mortalLogs(logs worker.Logs, text string) (worker.Logs, error) {
	if text == "" {
		return logs, nil
	}
	m := &mortal{Logs: logs}
	_, err := fmt.Sscan(text, &m.at, (*int)(&m.signal))
	return m, err
}

// lastWords are what it says before.
const lastWords = "this is my last event"

// OpenLog implements [settle.Logs].
func (m *mortal) OpenLog(ctx context.Context, session string) (settle.Log, error) {
	log, err := m.Logs.OpenLog(ctx, session)
	if err != nil {
		return nil, err
	}
	for _, err := range log.Read(ctx, 0) {
		return log, err // it has events
	}
	return &mortalLog{log, m}, nil
}

type mortalLog struct {
	settle.Log
	of *mortal
}

// Append implements [settle.Log]: the event is durable, and nothing after it.
func (l *mortalLog) Append(events []event.Event, d settle.Durability) error {
	n := int(l.of.at) - int(events[0].Seq) + 1
	if n < 1 || n > len(events) {
		return l.Log.Append(events, d)
	}
	if err := l.Log.Append(events[:n], settle.Durably); err != nil {
		return err
	}
	l.of.once.Do(func() {
		fmt.Fprintln(os.Stderr, lastWords)
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
	c.retire(c.alive[0])
	type last struct {
		event int
		with  syscall.Signal
	}
	var ends []last
	for n := 1; n < len(c.place.Events(t, "whole")); n += *every { // after the last one there is nothing to lose
		ends = append(ends, last{n, syscall.SIGKILL}, last{n, syscall.SIGSTOP})
	}
	c.tasks(len(ends))
	began, met := time.Now(), map[*process][]string{}
	for n := 0; c.unended(ctx) > 0; {
		for len(c.alive) < workers {
			if n == len(ends) {
				c.start(slotsVar + "=1") // it lives on
				continue
			}
			p := c.start(slotsVar+"=1", fmt.Sprintf("%s=%d %d", endVar, ends[n].event, ends[n].with))
			p.stops = ends[n].with == syscall.SIGSTOP
			n++
		}
		c.bury(ctx, met)
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf(
		"%d turns in %s, and %d workers that died or were stopped",
		len(ends),
		time.Since(began).Round(time.Second),
		len(met),
	)
	c.check(c.place.Await(ctx, t))
	c.refused(ctx)
	if len(met) < len(ends)*9/10 { // some turns are shorter
		t.Errorf("only %d of %d workers came to their last event", len(met), len(ends))
	}
}

// bury takes those out of the crew that have come to their last event, and notes which
// tasks they had. Those that were only stopped go on when others have these, and end.
func (c *crew) bury(ctx context.Context, met map[*process][]string) {
	for _, p := range slices.Clone(c.alive) {
		if _, known := met[p]; known || !strings.Contains(p.said(), lastWords) {
			continue
		}
		met[p] = c.held(ctx, p.id)
		c.alive = slices.DeleteFunc(c.alive, func(other *process) bool { return other == p })
		c.deaths = append(c.deaths, death{pid: p.cmd.Process.Pid, at: time.Now(), until: time.Now().Add(time.Hour)})
	}
	for p, had := range met {
		if !p.stops || len(c.held(ctx, p.id)) > 0 {
			continue
		}
		p.stops = false
		p.signal(syscall.SIGCONT)
		if c.moved(ctx, had, p.id) > 0 { // else it had just said how they ended
			c.woken = append(c.woken, p)
		}
		c.retire(p)
	}
}
