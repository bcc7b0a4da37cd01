package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

// StartName is the name in rules for the start of a server that a client named.
const StartName = "mcp_start"

// NotAllowedError: a client named the server's program, and its start is not approved yet.
type NotAllowedError struct{ Server string }

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf(
		"cannot start the MCP server %q: the client named its program, and its start is not approved; a call of one of its tools, or of %s, requests the approval",
		e.Server,
		searchName,
	)
}

// Serves reports whether a tool name in a rule, "SERVER__TOOL" or "SERVER__*", belongs to
// the server.
func Serves(server, toolName string) bool {
	return strings.HasPrefix(toolName, valid(server)+Separator)
}

// permit lets the server start if the call's approval includes it.
func (l *link) permit(call tool.Call) {
	if !l.server.Named || !slices.Contains(call.Starts, l.server.Name) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.allowed {
		l.allowed, l.sandbox = true, call.Sandbox
	}
}

// mayStart reports whether the server can start without a call.
func (l *link) mayStart() bool {
	if !l.waits() {
		return true
	}
	if l.config.MayStart == nil {
		return false
	}
	in, may := l.config.MayStart(l.program())
	l.mu.Lock()
	defer l.mu.Unlock()
	if may && !l.allowed {
		l.allowed, l.sandbox = true, in
	}
	return l.allowed
}

// confined returns the sandbox of the server.
func (l *link) confined() event.Sandbox {
	if l.server.Project && l.config.ProjectSandbox != nil {
		return l.config.ProjectSandbox(l.program())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sandbox
}

// program describes the program for an approval.
func (l *link) program() tool.Program {
	p := tool.Program{Name: l.server.Name, Argv: l.server.Argv, Dir: l.config.dirOf(l.server)}
	for _, entry := range l.server.Env {
		name, _, _ := strings.Cut(entry, "=")
		p.Variables = append(p.Variables, name)
	}
	return p
}

// waits reports whether a client named the server and its start is not approved yet.
func (l *link) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server.Named && !l.allowed && !l.disabled
}

// starts returns the programs among the servers whose start is not approved yet.
func (s *Servers) starts(servers ...string) (list []tool.Program) {
	for _, name := range servers {
		if l := s.links[name]; l != nil && l.waits() {
			list = append(list, l.program())
		}
	}
	return list
}

// unknown returns the servers without known tools.
func (s *Servers) unknown() []string {
	return slices.DeleteFunc(slices.Clone(s.offer.pending), func(name string) bool { return s.links[name].isKnown() })
}

// Starts implements tool.Starter.
func (d *direct) Starts(json.RawMessage) []tool.Program { return d.servers.starts(d.entry.server) }

// Starts implements tool.Starter.
func (t *search) Starts(json.RawMessage) []tool.Program {
	return t.servers.starts(t.servers.unknown()...)
}

// Starts implements tool.Starter.
func (r *resources) Starts(args json.RawMessage) []tool.Program {
	var in resourceArgs
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	return r.servers.starts(in.Server)
}

// Starts implements tool.Starter.
func (d *dispatch) Starts(args json.RawMessage) []tool.Program {
	var in Dispatched
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	if in.Name == ResourcesName {
		return (&resources{d.servers}).Starts(in.Arguments)
	}
	if e, ok := d.find(in.Name); ok {
		return d.servers.starts(e.server)
	}
	return d.servers.starts(d.servers.unknown()...)
}
