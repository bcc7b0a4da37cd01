package assemble

import (
	"log/slog"
	"sync"

	"github.com/settle-agent/settle/internal/executor"
)

// notices reports the state of a session's connection to its executor to the frontends of
// running calls, and to the diagnostic log.
type notices struct {
	logger *slog.Logger // may be nil

	mu    sync.Mutex // guards the fields below
	lost  string     // notice for new calls while the connection is lost; empty otherwise
	last  int
	calls map[int]func(line string)
}

// take receives a notice of the executor's client.
func (n *notices) take(change executor.ConnectionChange) {
	n.log(change.Text)
	n.mu.Lock()
	n.lost = ""
	if change.Lost {
		n.lost = change.Text
	}
	var calls []func(string)
	for _, say := range n.calls {
		calls = append(calls, say)
	}
	n.mu.Unlock()
	for _, say := range calls { // a call can wait for the disk
		say(change.Text)
	}
}

func (n *notices) log(text string) {
	if n.logger != nil {
		n.logger.Warn(text)
	}
}

// watch sends notices to a call until end.
func (n *notices) watch(say func(line string)) (end func()) {
	if say == nil {
		return func() {}
	}
	n.mu.Lock()
	lost := n.lost
	defer func() {
		if n.mu.Unlock(); lost != "" {
			say(lost)
		}
	}()
	if n.calls == nil {
		n.calls = map[int]func(string){}
	}
	n.last++
	id := n.last
	n.calls[id] = say
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.calls, id)
	}
}
