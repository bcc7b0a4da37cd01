package executor

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// handOver moves the commands of tool calls to the next host, and ends the other work. The
// stream of the previous host is closed.
func (b *host) handOver(next *host) (all []HandedOverCommand) {
	b.link.hangUp()
	b.cancel() // commands that are starting, and calls
	b.mu.Lock()
	b.timer.Stop()
	b.expired = true
	commands := b.commands
	b.commands = map[uint64]*command{}
	b.mu.Unlock()
	last := uint64(0)
	for id := range commands {
		last = max(last, id)
	}
	starting := time.NewTimer(endTimeout)
	defer starting.Stop()
	for id := uint64(1); id <= last; id++ { // in the order of their start
		c := commands[id]
		if c == nil {
			continue
		}
		select {
		case <-c.ready:
		case <-starting.C: // ends as soon as it has started
			starting.Reset(0)
			b.mu.Lock()
			b.commands[id] = c
			b.mu.Unlock()
			continue
		}
		if c.process == nil {
			continue
		}
		next.commands[id] = c
		all = append(all, c.follow(next))
	}
	b.end(b.grace())
	b.link.close()
	return all
}

// follow moves the command to another host and repeats its reports there.
func (c *command) follow(next *host) HandedOverCommand {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host, c.dropped = next, 0
	next.link.push(kindOutput, c.id, slices.Clone(c.tail))
	if c.exited != nil {
		next.link.push(kindExited, c.id, c.exited)
	}
	if c.end != nil {
		c.endNumber = next.link.push(kindGone, c.id, c.end)
	}
	script := c.script
	if len(script) > handedBytes {
		script = strings.ToValidUTF8(script[:handedBytes], "") + "…"
	}
	return HandedOverCommand{
		ID:      c.id,
		Call:    c.call,
		Command: script,
		PID:     c.process.PID(),
		Ended:   c.end != nil,
		Expired: c.expired,
	}
}

// handedBytes bounds a script in the report to the next host: one frame has all of them.
const handedBytes = 1 << 10

// TakenCommand is a command of an earlier host of the session that this host continues.
type TakenCommand struct {
	// Call is the id of its tool call.
	Call, Command string
	// Ended reports that all its processes have ended; Process has the result soon. Expired
	// reports that it was ended because the lease ended.
	Ended, Expired bool
	Process        *proc.Process

	output *heldOutput
}

// Take writes the end of the previous output and all later output.
func (k *TakenCommand) Take(to io.Writer) { k.output.pass(to) }

// TakenCommands returns the taken-over commands; see [RemoteConfig].
func TakenCommands(r *Remote) []*TakenCommand {
	all, _ := r.kept.([]*TakenCommand) // nil if there are none
	return all
}

// TakeOver registers the handed-over commands. It is a value of the configuration, so that
// programs that take nothing over do not link it.
func TakeOver(r *Remote, all []HandedOverCommand) {
	var list []*TakenCommand
	for _, k := range all {
		out := &heldOutput{}
		f := &remoteProcess{remote: r, id: k.ID, link: r.link, output: out}
		taken := &TakenCommand{Call: k.Call, Command: k.Command, Ended: k.Ended, Expired: k.Expired, output: out}
		taken.Process, f.ending = proc.NewRemote(k.PID, k.Command, f)
		r.running[k.ID] = f
		r.last = max(r.last, k.ID)
		list = append(list, taken)
	}
	r.kept = list
}

// maxHeldOutput bounds the output that is not taken yet, in bytes.
const maxHeldOutput = 256 << 10

// heldOutput keeps output until Take.
type heldOutput struct {
	mu   sync.Mutex
	to   io.Writer
	data []byte
}

// Write implements [io.Writer].
func (h *heldOutput) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.to != nil {
		return h.to.Write(data)
	}
	h.data = append(h.data, data...)
	if n := len(h.data) - maxHeldOutput; n > 0 {
		h.data = append(h.data[:0], h.data[n:]...)
	}
	return len(data), nil
}

func (h *heldOutput) pass(to io.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = to.Write(h.data) // a capture accepts all data
	h.to, h.data = to, nil
}
