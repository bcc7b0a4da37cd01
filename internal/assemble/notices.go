package assemble

import (
	"log/slog"
	"sync"

	"github.com/settle-agent/settle/internal/executor"
)

// notices has people know how the connection of a session to its hands does: whoever
// looks at a call that runs, and the diagnostic log.
type notices struct {
	logger *slog.Logger // may be nil

	mu    sync.Mutex // guards what follows
	lost  string     // what is to be said while there is no connection
	last  int
	calls map[int]func(line string)
}

// take takes what the hands say.
func (n *notices) take(news executor.ConnectionChange) {
	n.log(news.Text)
	n.mu.Lock()
	n.lost = ""
	if news.Lost {
		n.lost = news.Text
	}
	var calls []func(string)
	for _, say := range n.calls {
		calls = append(calls, say)
	}
	n.mu.Unlock()
	for _, say := range calls { // which may wait for the disk
		say(news.Text)
	}
}

func (n *notices) log(text string) {
	if n.logger != nil {
		n.logger.Warn(text)
	}
}

// watch has a call told until it ends.
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
