package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// remoteProcess is a command on another machine.
type remoteProcess struct {
	remote *Remote
	link   *link
	id     uint64
	output io.Writer
	ending *proc.Ending
	exited bool // only deliver uses it
}

// deliver handles a report about the command.
func (f *remoteProcess) deliver(m message) {
	switch m.kind {
	case kindOutput:
		f.write(m.data)
	case kindDropped:
		var d droppedReport
		if json.Unmarshal(m.data, &d) == nil {
			f.write(fmt.Appendf(nil, "\n[%d bytes of output were lost while the connection was]\n", d.Bytes))
		}
	case kindExited:
		var e exitedReport
		if json.Unmarshal(m.data, &e) != nil || f.exited {
			return
		}
		f.exited = true
		f.ending.Exited(proc.Exit{Code: e.Code, Signal: e.Signal, Lost: e.Lost}, e.Rest)
	case kindGone:
		var g goneReport
		if json.Unmarshal(m.data, &g) != nil {
			f.ending.Lost("a report of the executor is unreadable")
			return
		}
		f.ending.TreeEnded(g.Survivors, g.EndRequested)
	}
}

func (f *remoteProcess) write(data []byte) {
	if f.output != nil {
		_, _ = f.output.Write(data)
	}
}

// End implements [proc.Remote].
func (f *remoteProcess) End(grace time.Duration) {
	f.link.push(kindEnd, f.id, encode(endOrder{GraceMS: grace.Milliseconds()}))
}

// inputTimeout bounds the wait for a command that does not read.
const inputTimeout = 5 * time.Second

// Write implements [proc.Remote].
func (f *remoteProcess) Write(ctx context.Context, data []byte) error {
	timeout := inputTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	return f.feed(ctx, writeOrder{Process: f.id, Data: data, TimeoutMS: max(timeout.Milliseconds(), 1)})
}

// CloseInput implements [proc.Remote].
func (f *remoteProcess) CloseInput() error {
	ctx, cancel := context.WithTimeout(context.Background(), inputTimeout)
	defer cancel()
	return f.feed(ctx, writeOrder{Process: f.id, Close: true})
}

func (f *remoteProcess) feed(ctx context.Context, o writeOrder) error {
	a, err := f.remote.ask(ctx, kindWrite, encode(o))
	switch {
	case err != nil:
		return err
	case a.NoInput:
		return proc.ErrNoInput
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

// Why implements [proc.Remote].
func (f *remoteProcess) Why() string {
	if f.link.attached() {
		return "it is still being ended"
	}
	return fmt.Sprintf("the executor is unreachable; it ends the command by itself within %v", f.remote.config.Lease)
}
