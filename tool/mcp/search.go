package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool"
)

// The tools with which a model finds and calls tools that it does not receive directly.
const (
	searchName = "tool_search"
	CallName   = "tool_call"
)

// maxFound bounds the tools in the result of a search.
const maxFound = 8

// search finds tools of servers.
type search struct{ servers *Servers }

// Spec implements tool.Tool. It depends only on the offer (C21).
func (t *search) Spec() tool.Spec {
	var names []string
	for _, s := range t.servers.offer.Servers {
		names = append(names, s.Name)
	}
	return tool.Spec{
		Name: searchName,
		Description: "Find tools of the connected MCP servers (" + clip(strings.Join(names, ", "), 2<<10) + "). " +
			"Returns names, descriptions and JSON schemas of the tools that match best; call them with " + CallName +
			". An empty query lists all names.",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string",` +
			`"description":"words of the tool's name or description, or a server's name"}},"required":["query"],"additionalProperties":false}`),
		ReadOnly: true,
		Finder:   t.servers.offer.allDeferred(),
		Timeout:  10 * defaultStartTimeout,
	}
}

// Run implements tool.Tool. It waits for servers without known tools.
func (t *search) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var in struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read the arguments: %w", err)
	}
	failures := t.servers.await(ctx, call)
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	var b strings.Builder
	all := t.servers.known()
	if strings.TrimSpace(in.Query) == "" {
		listNames(&b, all)
	} else {
		describe(&b, all, in.Query)
	}
	if late := t.servers.lateResources(); len(late) > 0 {
		describeSpec(&b, t.servers.resourcesOf(late))
	}
	for _, failure := range failures {
		fmt.Fprintf(&b, "\n%s", failure)
	}
	text := strings.TrimSpace(b.String())
	if len(text) > maxOutput {
		text = excerpt(text, maxOutput)
	}
	return tool.Result{Output: text}, nil
}

// await waits for the servers without known tools, and returns the errors of the failed
// ones.
func (s *Servers) await(ctx context.Context, call tool.Call) []string {
	failures := make([]string, len(s.offer.pending))
	var wg sync.WaitGroup
	for i, name := range s.offer.pending {
		l := s.links[name]
		if l.isKnown() {
			continue
		}
		l.permit(call)
		wg.Go(scope.Shield(func(err error) { failures[i] = err.Error() }, func() { // ends with the start, or with ctx
			if _, err := l.client(ctx); err != nil {
				failures[i] = err.Error()
			}
		}))
	}
	wg.Wait()
	return slices.DeleteFunc(failures, func(text string) bool { return text == "" })
}

func listNames(b *strings.Builder, all []entry) {
	for _, e := range all {
		first, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(e.Title, e.Description)), "\n")
		fmt.Fprintf(b, "%s: %s\n", e.name, clip(first, 100))
	}
	if len(all) == 0 {
		b.WriteString("No server has any tools.\n")
	}
}

// describe lists the tools that match the query best.
func describe(b *strings.Builder, all []entry, query string) {
	words := strings.Fields(strings.ToLower(query))
	found := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return score(e, words) == 0 })
	slices.SortStableFunc(found, func(x, y entry) int { return score(y, words) - score(x, words) })
	for _, e := range found[:min(len(found), maxFound)] {
		describeSpec(b, e.spec())
	}
	switch {
	case len(found) == 0:
		b.WriteString("No tool fits. All tools:\n")
		listNames(b, all)
	case len(found) > maxFound:
		fmt.Fprintf(b, "%d more tools fit less well:\n", len(found)-maxFound)
		listNames(b, found[maxFound:])
	}
}

func describeSpec(b *strings.Builder, spec tool.Spec) {
	fmt.Fprintf(b, "## %s\n%s\nArguments: %s\n\n", spec.Name, spec.Description, spec.Schema)
}

// score rates a tool: a word in its name counts more than one in its description.
func score(e entry, words []string) int {
	name, text := strings.ToLower(e.name), strings.ToLower(e.Title+" "+e.Description)
	points := 0
	for _, word := range words {
		switch {
		case name == word:
			points += 100
		case strings.Contains(name, word):
			points += 5
		case strings.Contains(text, word):
			points++
		}
	}
	return points
}

// dispatch calls a found tool.
type dispatch struct{ servers *Servers }

// Dispatched is the server's tool that a call is about.
type Dispatched struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// Resources reports that the call is about the server's resources.
	Resources bool `json:"-"`
}

// Unwrap returns the server's tool behind a call of [CallName] or [ResourcesName]; false
// for other calls. Reading resources counts as a tool of their server with the name
// [ResourcesName].
func Unwrap(name, arguments string) (Dispatched, bool) {
	if name == ResourcesName {
		var in resourceArgs
		if json.Unmarshal([]byte(arguments), &in) != nil || in.Server == "" {
			return Dispatched{}, false
		}
		return Dispatched{toolName(in.Server, name), json.RawMessage(arguments), true}, true
	}
	var inner Dispatched
	if name != CallName || json.Unmarshal([]byte(arguments), &inner) != nil {
		return Dispatched{}, false
	}
	if inner.Name == ResourcesName {
		return Unwrap(inner.Name, string(inner.Arguments))
	}
	if !strings.Contains(inner.Name, Separator) {
		return Dispatched{}, false
	}
	return inner, true
}

// Called is a call of a server's tool under the model's names.
type Called struct {
	Server, Tool string
	Arguments    json.RawMessage
}

// CalledBy returns the server's tool of a call, direct or through [CallName]; false for
// other calls.
func CalledBy(name string, arguments json.RawMessage) (Called, bool) {
	if inner, ok := Unwrap(name, string(arguments)); ok {
		name, arguments = inner.Name, inner.Arguments
	}
	server, its, ok := strings.Cut(name, Separator)
	return Called{server, its, arguments}, ok && server != "" && its != ""
}

// Spec implements tool.Tool.
func (d *dispatch) Spec() tool.Spec {
	spec := tool.Spec{
		Name:        CallName,
		Description: "Call a tool that " + searchName + " has found, with arguments that fit its schema.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string","description":"the name that ` + searchName + ` gave"},` +
				`"arguments":{"type":"object","description":"the arguments of the tool"}},"required":["name","arguments"],"additionalProperties":false}`,
		),
		Finder: d.servers.offer.allDeferred(),
	}
	for _, l := range d.servers.links {
		spec.Timeout = max(spec.Timeout, l.server.backstop())
	}
	return spec
}

// Title implements tool.Titler.
func (d *dispatch) Title(args json.RawMessage) string {
	var in Dispatched
	if json.Unmarshal(args, &in) != nil {
		return CallName
	}
	if in.Name == ResourcesName {
		return (&resources{}).Title(in.Arguments)
	}
	if e, ok := d.find(in.Name); ok {
		return title(e, in.Arguments)
	}
	return in.Name
}

func (d *dispatch) find(name string) (entry, bool) {
	all := d.servers.known()
	if at := slices.IndexFunc(all, func(e entry) bool { return e.name == name }); at >= 0 {
		return all[at], true
	}
	return entry{}, false
}

// Run implements tool.Tool.
func (d *dispatch) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var in Dispatched
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read the arguments: %w", err)
	}
	if in.Name == ResourcesName {
		return d.servers.serveResources(ctx, call, in.Arguments)
	}
	e, ok := d.find(in.Name)
	if !ok {
		d.servers.await(ctx, call) // a resumed session can name a tool before its server is known
		if e, ok = d.find(in.Name); !ok {
			return tool.Result{}, fmt.Errorf("there is no tool %q; %s finds the tools that there are",
				clip(in.Name, maxName), searchName)
		}
	}
	return d.servers.run(ctx, e, call, in.Arguments)
}
