package executor

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// reportedTailBytes bounds the output of a command in a report to another host.
const reportedTailBytes = 2 << 10

// keptTailBytes bounds the output of a command that is kept for a host that takes it over.
const keptTailBytes = 8 << 10

// command is a command that a host has started. Its id is used once: a second start order for it
// asks for its state.
type command struct {
	id     uint64
	script string
	call   string

	ready   chan struct{} // closed when it has started or failed to start
	process *proc.Process // nil if the start failed; set before ready is closed
	failure error

	mu        sync.Mutex // guards the fields below
	host      *host      // the current owner
	tail      []byte
	dropped   int64
	exited    []byte // the report of its exit; nil before
	endNumber uint64 // number of the message with its last report, which is end
	end       []byte
	expired   bool // it ran when the lease ended
}

// push sends a message to the command's host.
func (c *command) push(kind byte, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host.link.push(kind, c.id, data)
}

// start starts a command, once.
func (s *Server) start(b *host, m message) {
	b.mu.Lock()
	if c := b.commands[m.id]; c != nil {
		b.mu.Unlock()
		s.work(func() { c.repeat() }) // ends with the command
		return
	}
	var o startOrder
	err := json.Unmarshal(m.data, &o)
	b.forget()
	c := &command{id: m.id, script: o.Script, call: o.Call, host: b, ready: make(chan struct{})}
	b.commands[m.id] = c
	b.mu.Unlock()
	s.work(func() { // ends with the command, which Close ends
		if err == nil {
			order := o.command()
			order.Output = c
			c.process, err = s.Local.Start(b.ctx, order)
		}
		c.failure = err
		c.announce()
		close(c.ready) // its output follows
		c.notify()
	})
}

// maxCommands bounds the remembered commands of a host.
const maxCommands = 1024

// forget removes commands whose end the host has confirmed; b.mu is held.
func (b *host) forget() {
	if len(b.commands) < maxCommands {
		return
	}
	for id, c := range b.commands {
		if c.confirmed() {
			delete(b.commands, id)
		}
	}
}

// announce reports whether the command has started.
func (c *command) announce() {
	if c.failure != nil {
		c.push(kindFailed, []byte(c.failure.Error()))
		return
	}
	c.push(kindStarted, encode(startedReport{PID: c.process.PID()}))
}

// notify reports the command's exit and end.
func (c *command) notify() {
	if c.failure != nil {
		return
	}
	exit, _ := c.process.Wait(context.Background()) // C8: the command's own end; End bounds it
	c.flushDropped()
	c.tellExit(encode(exitedReport{Code: exit.Code, Signal: exit.Signal, Lost: exit.Lost, Rest: c.process.Rest()}))
	<-c.process.Done() // Close and the end of the lease end it
	c.flushDropped()
	c.tellEnd(encode(goneReport{Survivors: c.process.Survivors(), EndRequested: c.process.EndedByOthers()}))
}

func (c *command) tellExit(report []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exited = report
	c.host.link.push(kindExited, c.id, report)
}

func (c *command) tellEnd(report []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = report
	c.endNumber = c.host.link.push(kindGone, c.id, report)
}

// expire records that the lease has ended, which ends the command.
func (c *command) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exited == nil {
		c.expired = true
	}
}

// confirmed reports whether the host has received the command's end.
func (c *command) confirmed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endNumber != 0 && c.host.link.confirmed(c.endNumber)
}

// repeat sends all reports again, but no output.
func (c *command) repeat() {
	<-c.ready
	c.announce()
	c.notify()
}

// Write sends the command's output.
func (c *command) Write(data []byte) (int, error) {
	<-c.ready // the report of the start precedes the output
	c.flushDropped()
	c.mu.Lock()
	c.tail = append(c.tail, data...)
	if n := len(c.tail) - keptTailBytes; n > 0 {
		c.tail = append(c.tail[:0], c.tail[n:]...)
	}
	link := c.host.link
	c.mu.Unlock()
	sent := link.flood(kindOutput, c.id, data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !sent && c.host.link == link { // else the next host has the output
		c.dropped += int64(len(data))
	}
	return len(data), nil
}

// flushDropped reports the number of dropped bytes of output.
func (c *command) flushDropped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped > 0 && c.host.link.attached() {
		c.host.link.push(kindDropped, c.id, encode(droppedReport{Bytes: c.dropped}))
		c.dropped = 0
	}
}

// stop ends the command and its descendants (C7).
func (c *command) stop(ctx context.Context, grace time.Duration) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return
	}
	if c.process != nil {
		c.process.End(ctx, grace)
	}
}

func (c *command) write(o writeOrder) error {
	<-c.ready // the start of a command is bounded
	if c.process == nil {
		return c.failure
	}
	if o.Close {
		return c.process.CloseInput()
	}
	c.mu.Lock()
	b := c.host
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(b.ctx, time.Duration(o.TimeoutMS)*time.Millisecond)
	defer cancel()
	return c.process.Write(ctx, o.Data)
}

// report describes the command for another host, if it ran until that host came.
func (c *command) report() (EndedCommand, bool) {
	select {
	case <-c.ready:
	default:
		return EndedCommand{Command: c.script}, true
	}
	if c.process == nil {
		return EndedCommand{}, false
	}
	e := EndedCommand{Command: c.script, PID: c.process.PID(), Survivors: c.process.Remains()}
	select {
	case <-c.process.Exited():
		if exit := c.process.Exit(); !exit.Lost {
			e.ExitCode = &exit.Code
		}
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Tail = string(c.tail[max(0, len(c.tail)-reportedTailBytes):])
	return e, true
}
