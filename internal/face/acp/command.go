package acp

import "github.com/settle-agent/settle/internal/client/commands"

// offer tells the client which commands a person can call, if there are any. It
// comes after the answer that names the session, and waits for a client that reads
// slowly.
func (ses *session) offer() {
	available := []object{}
	for _, c := range commands.Of(ses.opened.Agent).List {
		o := object{"name": c.Name, "description": c.About}
		if c.Hint != "" {
			o["input"] = object{"hint": c.Hint}
		}
		available = append(available, o)
	}
	if len(available) > 0 {
		_ = ses.tell(object{"sessionUpdate": "available_commands_update", "availableCommands": available}) // that nobody reads is follow's to notice
	}
}
