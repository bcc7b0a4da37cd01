package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
)

// Config is the common configuration of a session's servers.
type Config struct {
	// Env is the environment of servers, without their own variables.
	Env []string
	// Dir is the session's absolute working directory.
	Dir string
	// CacheDir is the directory of catalogues; "" for none.
	CacheDir string
	// SpoolDir is the directory of images and of outputs that are too long for a model; ""
	// for none.
	SpoolDir string
	// Marker and Lock are the fields of [proc.Spec].
	Marker string
	Lock   *os.File
	// Mask masks the session's secrets in stored files; nil masks nothing.
	Mask  func() Masker
	start starter // starts a server in a sandbox; nil refuses
	// MayStart, if set, reports whether a server that a client named can start without a
	// call, and its sandbox.
	MayStart func(tool.Program) (in event.Sandbox, may bool)
	// ProjectSandbox, if set, returns the sandbox of a server that a project brings.
	ProjectSandbox func(tool.Program) event.Sandbox
	// Client sends requests to servers over HTTP; nil refuses them.
	Client *http.Client
	// Tokens, if set, returns the tokens of servers over HTTP without a configured
	// Authorization header.
	Tokens Tokens
	// Version is settle's version, which servers receive.
	Version string
	// Logger receives servers' errors; nil discards them.
	Logger *slog.Logger
	// Seen, if set, receives each change of a server's state. It must not block.
	Seen func(server string, state State, why error)
	// Listed, if set, receives the name of each server that listed its tools and prompts.
	// It must not block.
	Listed func(server string)
}

// starter starts a program in a sandbox.
type starter = func(ctx context.Context, in event.Sandbox, spec proc.Spec) (*proc.Process, error)

// Confined returns the configuration with sandboxes for servers.
func (c Config) Confined(start starter) Config {
	c.start = start
	return c
}

// seen reports a server's state.
func (c *Config) seen(server string, state State, why error) {
	if c.Seen != nil {
		c.Seen(server, state, why)
	}
}

// Masker masks secrets in a text that arrives in pieces.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Servers are the servers of one session. Close ends them; nil has none.
type Servers struct {
	config Config
	offer  *Offer
	links  map[string]*link
	end    context.CancelCauseFunc
	work   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	entries  []entry    // all known tools
	readable []string   // servers that are known to have resources
	prompts  map[string][]Prompt
	taken    map[string]bool
	left     []error // parts that did not end
}

// Open prepares the connections to the servers of the offer. It starts servers without
// known tools in the background, and other servers when a call needs them.
func Open(c Config, o *Offer) *Servers {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	life, end := context.WithCancelCause(context.Background())
	s := &Servers{config: c, offer: o, links: map[string]*link{}, end: end, taken: map[string]bool{}}
	for name := range o.taken {
		s.taken[name] = true
	}
	s.entries, s.readable = slices.Concat(o.direct, o.found), slices.Clone(o.readable)
	s.prompts = maps.Clone(o.prompts)
	for _, server := range o.Servers {
		_, hasPrompts := o.prompts[server.Name]
		pending := !hasPrompts || slices.Contains(o.pending, server.Name)
		l := &link{
			server: server, config: &s.config, life: life, work: &s.work, update: s.update, report: s.report,
			known: !pending,
		}
		s.links[server.Name] = l
		if pending && l.mayStart() {
			l.mu.Lock()
			l.begin(0)
			l.mu.Unlock()
		}
	}
	return s
}

// Tools returns the tools of the session, which are fixed except for disabled servers.
func (s *Servers) Tools() []tool.Tool {
	var tools []tool.Tool
	for _, e := range s.offer.direct {
		if s.links[e.server].isDisabled() {
			continue
		}
		tools = append(tools, &direct{servers: s, entry: e, spec: s.specOf(e)})
	}
	if len(s.offer.readable) > 0 {
		tools = append(tools, &resources{s})
	}
	if s.offer.searches() {
		tools = append(tools, &search{s}, &dispatch{s})
	}
	for _, e := range s.offer.deferred() {
		if s.links[e.server].isDisabled() {
			continue
		}
		spec := s.specOf(e)
		spec.Deferred = valid(e.server)
		tools = append(tools, &direct{servers: s, entry: e, spec: spec})
	}
	return tools
}

// specOf returns the model's description of a tool, with a backstop in addition to a call's
// own limits.
func (s *Servers) specOf(e entry) tool.Spec {
	spec := e.spec()
	spec.Timeout = s.links[e.server].server.backstop()
	return spec
}

// update records a server's current tools. Names that models have seen stay valid.
func (s *Servers) update(server Server, c Catalogue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []entry
	known := map[string]bool{}
	for _, e := range s.entries {
		if e.server != server.Name {
			kept = append(kept, e)
			continue
		}
		if at := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == e.Name }); at >= 0 {
			e.Tool = c.Tools[at]
			kept, known[e.Name] = append(kept, e), true
		}
	}
	added := slices.DeleteFunc(slices.Clone(c.Tools), func(t Tool) bool { return known[t.Name] })
	entries, notes := entriesOf(server, added, s.taken)
	for _, note := range notes {
		s.config.Logger.Warn(note)
	}
	s.entries = append(kept, entries...)
	if c.Prompts != nil {
		s.prompts[server.Name] = c.Prompts
	}
	if c.Resources && server.offers(ResourcesName) && !slices.Contains(s.readable, server.Name) {
		s.readable = append(s.readable, server.Name)
	}
}

// lateResources are the servers whose resources were discovered after the offer.
func (s *Servers) lateResources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.readable[len(s.offer.readable):])
}

func (s *Servers) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, err)
}

// known returns the currently known tools.
func (s *Servers) known() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool { return s.links[e.server].isDisabled() })
}

// Close ends all servers with their child processes in parallel. The error reports the end
// of ctx and the processes that did not end.
func (s *Servers) Close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.end(errClosed)
	done := make(chan struct{})
	go func() { // ends when all servers have ended, each within a deadline
		defer close(done)
		s.work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for MCP servers to end: %w", context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.left...)
}
