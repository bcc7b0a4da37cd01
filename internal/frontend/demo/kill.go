package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/proc"
)

// Host runs the turn of the process that the demo kills, in the directory of the demo.
func Host(ctx context.Context, o Options, dir string) (code int, err error) {
	d := &demo{Options: o, dir: dir, began: time.Now()}
	return d.play(ctx, part{model: killed(), prompt: killPrompt})
}

const killPrompt = "Build it."

// killDelay is the time for which the command runs before its host is killed.
const killDelay = 800 * time.Millisecond

// crash runs a turn in another process, and kills that in the middle of a command.
func (d *demo) crash(ctx context.Context) (int, error) {
	d.printf("\n3. kill -9 of settle itself.\n\n> %s\n\n", killPrompt)
	runs := &watcher{to: d.Stdout, text: []byte(building), seen: make(chan struct{})}
	host, err := proc.Start(ctx, proc.Spec{Argv: append(slices.Clone(d.Host), d.dir), Env: d.Environ, Stdout: runs})
	if err != nil {
		return stdio.CodeFailed, fmt.Errorf("cannot run another process of settle: %w", err)
	}
	defer host.End(ctx, 0)
	var kill <-chan time.Time
	for seen := runs.seen; ; {
		select {
		case <-host.Exited():
			return stdio.CodeFailed, errors.New("the process that the demo was about to kill has ended by itself")
		case <-ctx.Done():
			return stdio.CodeFailed, context.Cause(ctx)
		case <-seen:
			seen, kill = nil, time.After(killDelay)
			continue
		case <-kill:
		}
		break
	}
	if err := proc.Signal(host.Record(host.PID()).Process, os.Kill); err != nil { // C23
		return stdio.CodeFailed, fmt.Errorf("cannot kill process %d: %w", host.PID(), err)
	}
	if _, err := host.Wait(ctx); err != nil {
		return stdio.CodeFailed, err
	}
	d.printf("\n$ kill -9 %d    # settle is dead, in the middle of a turn", host.PID())
	return stdio.CodeCompleted, nil
}

// watcher passes text on, and closes seen once the text has come.
type watcher struct {
	to     io.Writer
	text   []byte
	seen   chan struct{}
	output []byte
	done   bool
}

// Write implements [io.Writer].
func (w *watcher) Write(data []byte) (int, error) {
	if w.output = append(w.output, data...); !w.done && bytes.Contains(w.output, w.text) {
		w.done = true
		close(w.seen)
	}
	return w.to.Write(data)
}

// typist answers a question like a person: after a moment, and visibly.
type typist struct {
	to    io.Writer
	typed bool
}

// answerDelay gives a viewer the time to read the question.
const answerDelay = 1500 * time.Millisecond

// Read implements [io.Reader].
func (t *typist) Read(data []byte) (int, error) {
	if t.typed {
		return 0, io.EOF
	}
	t.typed = true
	time.Sleep(answerDelay)
	_, _ = io.WriteString(t.to, "y\n")
	return copy(data, "y\n"), nil
}
