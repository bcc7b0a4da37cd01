package acp

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/settle-agent/settle/internal/client/commands"
)

// offered is what the client was told of commands.
type offered struct {
	begun atomic.Bool

	mu   sync.Mutex // guards what follows, and the order of what is told
	last string
}

// offer tells the client which commands a person can call, if there are any. It
// comes after the answer that names the session, and waits for a client that reads
// slowly.
func (ses *session) offer() {
	ses.offered.begun.Store(true)
	ses.offered.mu.Lock()
	ses.offered.last = ""
	ses.offered.mu.Unlock()
	ses.offerChanged()
}

// offerChanged is offer if the commands are others than the client was told.
func (ses *session) offerChanged() {
	ses.offered.mu.Lock()
	defer ses.offered.mu.Unlock()
	available := []object{}
	for _, c := range commands.Of(ses.opened.Commands()).List {
		o := object{"name": c.Name, "description": c.About}
		if c.Hint != "" {
			o["input"] = object{"hint": c.Hint}
		}
		available = append(available, o)
	}
	raw, err := json.Marshal(available)
	if err != nil || string(raw) == ses.offered.last || len(available) == 0 && ses.offered.last == "" {
		return
	}
	ses.offered.last = string(raw)
	_ = ses.tell(object{"sessionUpdate": "available_commands_update", "availableCommands": available}) // that nobody reads is follow's to notice
}

// listed is told that an MCP server has said which prompts it has.
func (ses *session) listed() {
	if ses.offered.begun.Load() { // else the first offer has them
		ses.Lane("commands "+ses.id, ses.offerChanged)
	}
}
