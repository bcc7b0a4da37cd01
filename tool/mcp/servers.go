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

// Config is what the servers of a session have in common.
type Config struct {
	// Env is the environment of servers, but for what is their own.
	Env []string
	// Dir is the session's working directory, absolute.
	Dir string
	// CacheDir is where catalogues are kept; "" keeps none.
	CacheDir string
	// SpoolDir is where outputs are kept whole that are too long for a model, and
	// images; "" keeps none.
	SpoolDir string
	// Marker and Lock are as in [proc.Spec].
	Marker string
	Lock   *os.File
	// Mask masks the session's secrets in what is kept in files; nil masks nothing.
	Mask  func() Masker
	start starter // in a sandbox; nil refuses to
	// MayStart, if set, reports whether a server that a client named may start without a
	// call, and in which sandbox.
	MayStart func(tool.Program) (in event.Sandbox, may bool)
	// Client sends requests to servers over HTTP; nil refuses them.
	Client *http.Client
	// Tokens, if set, gives the tokens of servers over HTTP that have no Authorization
	// header of their own.
	Tokens Tokens
	// Version is settle's, which servers are told.
	Version string
	// Logger gets what goes wrong with servers; nil discards it.
	Logger *slog.Logger
	// Seen, if set, is told how each server does. It must not block.
	Seen func(server string, state State, why error)
	// Listed, if set, is told when a server has said which tools and prompts it has. It
	// must not block.
	Listed func(server string)
}

// starter starts a program in a sandbox.
type starter = func(ctx context.Context, in event.Sandbox, spec proc.Spec) (*proc.Process, error)

// Confined returns the configuration of servers that can be started in a sandbox.
func (c Config) Confined(start starter) Config {
	c.start = start
	return c
}

// seen tells how a server does.
func (c *Config) seen(server string, state State, why error) {
	if c.Seen != nil {
		c.Seen(server, state, why)
	}
}

// Masker masks secrets in a text that comes in pieces.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Servers are the servers of one session. Close ends them; a nil one has none.
type Servers struct {
	config Config
	offer  *Offer
	links  map[string]*link
	end    context.CancelCauseFunc
	work   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	entries  []entry    // all tools that are known
	readable []string   // servers that are known to have resources
	prompts  map[string][]Prompt
	taken    map[string]bool
	left     []error // what could not be ended
}

// Open makes ready to reach the servers of the offer. It starts in the background
// those of which nothing is known, and no other before it is needed.
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
		_, asked := o.prompts[server.Name]
		pending := !asked || slices.Contains(o.pending, server.Name)
		l := &link{server: server, config: &s.config, life: life, work: &s.work, update: s.update, report: s.report, known: !pending}
		s.links[server.Name] = l
		if pending && l.mayStart() {
			l.mu.Lock()
			l.begin(0)
			l.mu.Unlock()
		}
	}
	return s
}

// Tools are the tools of the session, the same ones from beginning to end, but for those
// of servers that are disabled.
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

// specOf is what a model is told of a tool, with a backstop for a call: it has
// bounds of its own.
func (s *Servers) specOf(e entry) tool.Spec {
	spec := e.spec()
	spec.Timeout = s.links[e.server].server.backstop()
	return spec
}

// update takes what a server says of its tools now. Names that models may have
// read of stay.
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

// lateResources are the servers of which the model has not been told that they have
// resources.
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

// known returns the tools that are known now.
func (s *Servers) known() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool { return s.links[e.server].isDisabled() })
}

// Close ends all servers, with everything that they have started, in parallel. If
// ctx ends first, or something cannot be ended, the error says so.
func (s *Servers) Close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.end(errClosed)
	done := make(chan struct{})
	go func() { // ends when all has ended, each in a bounded time
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
