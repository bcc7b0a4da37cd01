package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/tool"
)

// MaxDirect is how many tools of servers a model is told of one by one. If there
// are more, it finds them with tool_search.
const MaxDirect = 20

// maxDeferred is how many a provider searches.
const maxDeferred = 1000

// Offer is what a session offers of its servers, from beginning to end (C21).
type Offer struct {
	// Servers are those that a session may start.
	Servers []Server
	// Notes are for people: tools that were renamed or left out.
	Notes []string

	direct   []entry
	found    []entry // by tool_search
	pending  []string
	readable []string            // servers that have resources
	prompts  map[string][]Prompt // of servers; those of servers that were not asked for them are missing
	taken    map[string]bool     // names of other tools
}

// entry is a tool of a server, by the name that it is called by.
type entry struct {
	name   string
	server string
	Tool
}

// Read decides what a session offers of the servers: it reads what is known of
// each in dir, and asks none. taken are the names of the session's other tools.
func Read(dir string, servers []Server, taken ...string) *Offer {
	o := &Offer{Servers: slices.Clone(servers), prompts: map[string][]Prompt{}, taken: map[string]bool{searchName: true, CallName: true, ResourcesName: true}}
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
				o.Notes = append(o.Notes, fmt.Sprintf("mcp.%s: the server has no tool %q, which its tools name", s.Name, name))
			}
		}
		if c.Omitted > 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("mcp.%s: the server has %d more tools than settle keeps (%d)", s.Name, c.Omitted, maxTools))
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

// entriesOf are the tools of a server that are offered. Names that are used are
// added to taken.
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

// searches reports whether there are tools that the model has to find first.
func (o *Offer) searches() bool { return len(o.found) > 0 || len(o.pending) > 0 }

// deferred are the tools that a model's provider searches, where it does so. They are
// sent with each request, so there is a bound.
func (o *Offer) deferred() []entry {
	if len(o.found) > maxDeferred {
		return nil
	}
	return o.found
}

// allDeferred reports whether there is nothing to find beside the deferred tools: every
// server has said what it has.
func (o *Offer) allDeferred() bool { return len(o.pending) == 0 && len(o.deferred()) > 0 }

// Names are the names of the tools that the session offers to every model.
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

// spec is what a model is told of a tool.
func (e entry) spec() tool.Spec {
	schema, note := offeredSchema(e.Schema)
	text := e.Description
	if strings.TrimSpace(text) == "" {
		text = e.Title
	}
	return tool.Spec{Name: e.name, Description: described(text, note), Schema: schema}
}
