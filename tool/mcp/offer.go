package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/tool"
)

// MaxDirect is the maximum number of tools of servers that a model receives directly. If
// there are more, the model finds them with tool_search.
const MaxDirect = 20

// maxDeferred bounds the tools that a provider searches.
const maxDeferred = 1000

// Offer is a session's fixed selection from its servers (C21).
type Offer struct {
	// Servers are the servers that a session can start.
	Servers []Server
	// Notes tell people which tools were renamed or omitted.
	Notes []string

	direct   []entry
	found    []entry // tools that tool_search finds
	pending  []string
	readable []string            // servers that have resources
	prompts  map[string][]Prompt // by server; without servers whose prompts are unknown
	taken    map[string]bool     // names of other tools
}

// entry is a tool of a server with its name for calls.
type entry struct {
	name   string
	server string
	Tool
}

// Read selects a session's tools from the stored catalogues in dir, without a request.
// taken are the names of the session's other tools.
func Read(dir string, servers []Server, taken ...string) *Offer {
	o := &Offer{
		Servers: slices.Clone(servers), prompts: map[string][]Prompt{},
		taken: map[string]bool{searchName: true, CallName: true, ResourcesName: true},
	}
	for _, name := range taken {
		o.taken[name] = true
	}
	var all []entry
	for _, s := range servers {
		c := Known(dir, s)
		if c == nil {
			o.pending = append(o.pending, s.Name)
			continue
		}
		if c.Prompts != nil {
			o.prompts[s.Name] = c.Prompts
		}
		if c.Resources && s.offers(ResourcesName) {
			o.readable = append(o.readable, s.Name)
		}
		for _, name := range s.Tools {
			if name != ResourcesName && !slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == name }) {
				o.Notes = append(o.Notes, fmt.Sprintf("mcp.%s: the server has no tool %q, which its tools name",
					s.Name, name))
			}
		}
		if c.Omitted > 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("mcp.%s: the server has %d more tools than settle keeps (%d)",
				s.Name, c.Omitted, maxTools))
		}
		entries, notes := entriesOf(s, c.Tools, o.taken)
		all, o.Notes = append(all, entries...), append(o.Notes, notes...)
	}
	if len(all) > MaxDirect {
		o.found = all
	} else {
		o.direct = all
	}
	return o
}

// entriesOf returns the offered tools of a server, and adds their names to taken.
func entriesOf(s Server, tools []Tool, taken map[string]bool) (entries []entry, notes []string) {
	for _, t := range tools {
		if !s.offers(t.Name) {
			continue
		}
		name, note := freeName(s.Name, "tool", t.Name, taken)
		if note != "" {
			notes = append(notes, note)
		}
		if name != "" {
			entries = append(entries, entry{name: name, server: s.Name, Tool: t})
		}
	}
	return entries, notes
}

// searches reports whether the model must find some tools first.
func (o *Offer) searches() bool { return len(o.found) > 0 || len(o.pending) > 0 }

// deferred are the tools that a model's provider searches, if it supports that. Each
// request contains them, so they are bounded.
func (o *Offer) deferred() []entry {
	if len(o.found) > maxDeferred {
		return nil
	}
	return o.found
}

// allDeferred reports whether only the deferred tools can be found, because all servers'
// tools are known.
func (o *Offer) allDeferred() bool { return len(o.pending) == 0 && len(o.deferred()) > 0 }

// Names returns the names of the tools that the session offers to every model.
func (o *Offer) Names() []string {
	if o == nil {
		return nil
	}
	var names []string
	for _, e := range o.direct {
		names = append(names, e.name)
	}
	if len(o.readable) > 0 {
		names = append(names, ResourcesName)
	}
	if o.searches() {
		names = append(names, searchName, CallName)
	}
	return names
}

// spec returns the model's description of a tool.
func (e entry) spec() tool.Spec {
	schema, note := offeredSchema(e.Schema)
	text := e.Description
	if strings.TrimSpace(text) == "" {
		text = e.Title
	}
	return tool.Spec{Name: e.name, Description: described(text, note), Schema: schema}
}
