package conversation

import (
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/client/commands"
)

// commandsMaxAge is the maximum age of a list of commands: every key uses the list.
const commandsMaxAge = 2 * time.Second

// Commands returns a function that lists the commands of source, without the prompts of its MCP
// servers: the open session lists these prompts and calls their servers.
func Commands(source commands.Source) func() commands.Set {
	var (
		mu     sync.Mutex // guards set and readAt
		set    commands.Set
		readAt time.Time
	)
	return func() commands.Set {
		mu.Lock()
		defer mu.Unlock()
		if readAt.IsZero() || time.Since(readAt) > commandsMaxAge {
			set, readAt = commands.Find(source.Sources(), source.Skills()).WithBuiltIn(), time.Now()
		}
		return set
	}
}
