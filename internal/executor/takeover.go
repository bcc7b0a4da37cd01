package executor

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// handOver gives what the brain has started for calls to the next one, and ends what
// else it had under way. The stream that it may have is of no use any more.
func (b *host) handOver(next *host) (all []HandedOverCommand) {
	b.link.hangUp()
	b.cancel() // what is just being started, and the calls
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
	for id := uint64(1); id <= last; id++ { // in the order in which they started
		c := commands[id]
		if c == nil {
			continue
		}
		select {
		case <-c.ready:
		case <-starting.C: // it is ended as soon as it has started
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

// follow has the command be another brain's, and tells that all of it.
func (c *command) follow(next *host) HandedOverCommand {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host, c.dropped = next, 0
	next.link.push(kindOutput, c.id, slices.Clone(c.tail))
	if c.exited != nil {
		next.link.push(kindExited, c.id, c.exited)
	}
	if c.end != nil {
		c.gone = next.link.push(kindGone, c.id, c.end)
	}
	script := c.script
	if len(script) > handedBytes {
		script = strings.ToValidUTF8(script[:handedBytes], "") + "…"
	}
	return HandedOverCommand{ID: c.id, Call: c.call, Command: script, PID: c.process.PID(), Gone: c.end != nil, Expired: c.expired}
}

// handedBytes is how much of a script the next brain is told: all of them are in one
// frame.
const handedBytes = 1 << 10

// Kept is a command that an earlier brain of the session had started, and that goes on
// as this one's.
type TakenCommand struct {
	// Call is the id of the tool call that it was started for.
	Call, Command string
	// Gone says that everything of it has ended; the Process says how, soon. Expired
	// says that it was ended, or is being, because no brain had been heard of in time.
	Gone, Expired bool
	Process       *proc.Process

	output *heldOutput
}

// Take writes the end of the output that the command has put out so far, and then what
// follows.
func (k *TakenCommand) Take(to io.Writer) { k.output.pass(to) }

// Taken are the commands that were taken over; see [RemoteConfig].
func TakenCommands(r *Remote) []*TakenCommand {
	all, _ := r.kept.([]*TakenCommand) // nil if there are none
	return all
}

// TakeOver makes this brain's what it was given. It is a value of the configuration, so
// that programs that take nothing over are without it.
func TakeOver(r *Remote, all []HandedOverCommand) {
	var list []*TakenCommand
	for _, k := range all {
		out := &heldOutput{}
		f := &remoteProcess{remote: r, id: k.ID, link: r.link, output: out}
		taken := &TakenCommand{Call: k.Call, Command: k.Command, Gone: k.Gone, Expired: k.Expired, output: out}
		taken.Process, f.ending = proc.NewRemote(k.PID, k.Command, f)
		r.running[k.ID] = f
		r.last = max(r.last, k.ID)
		list = append(list, taken)
	}
	r.kept = list
}

// mostHeld bounds the output that nobody has taken yet.
const maxHeldOutput = 256 << 10

// held keeps output until somebody takes it.
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
	_, _ = to.Write(h.data) // a capture takes all
	h.to, h.data = to, nil
}
