package acp

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/settle-agent/settle/internal/client/commands"
)

// offered has the commands that the client knows.
type offered struct {
	begun atomic.Bool

	mu   sync.Mutex // guards the fields below, and the order of updates
	last string
}

// offer sends the list of the commands that a person can call, if there are any. The client
// receives it after the response that names the session. offer waits for a client that reads
// slowly.
func (ses *session) offer() {
	ses.offered.begun.Store(true)
	ses.offered.mu.Lock()
	ses.offered.last = ""
	ses.offered.mu.Unlock()
	ses.offerChanged()
}

// offerChanged sends the commands if they have changed since the last update.
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
	_ = ses.tell(
		object{"sessionUpdate": "available_commands_update", "availableCommands": available},
	) // follow notices a closed output
}

// listed is called when an MCP server has listed its prompts.
func (ses *session) listed() {
	if ses.offered.begun.Load() { // else the first offer has them
		ses.Lane("commands "+ses.id, ses.offerChanged)
	}
}
