package lsp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

// Config is the common configuration of a session's language servers.
type Config struct {
	// Dir is the session's working directory, absolute and without links.
	Dir string
	// Env returns the environment of servers. Most sessions start none.
	Env func() []string
	// Marker and Lock are the fields of [proc.Spec].
	Marker string
	Lock   *os.File
	// Languages are the installed servers; see [Installed].
	Languages []Language
	// Timeout bounds how long an edit waits for the new errors.
	Timeout time.Duration
	// Version is settle's version, which servers receive.
	Version string
	// Logger receives servers' errors; nil discards them.
	Logger *slog.Logger

	rules func() (Launch, error)
}

// Launch starts a server's process under the rules that were in force when the launch was
// made.
type Launch struct {
	start starter
	holds func() bool
}

// starter starts a server's process.
type starter = func(ctx context.Context, spec proc.Spec) (*proc.Process, error)

// NewLaunch returns a launch with the function that starts a process, and the function that
// reports whether that process can run on under the present rules.
func NewLaunch(start starter, holds func() bool) Launch { return Launch{start, holds} }

// Holds reports whether a process of the launch can run on under the present rules.
func (l Launch) Holds() bool { return l.holds() }

// Under returns the configuration with the session's rules: they return how a server can
// start at present, or why it cannot. Servers ask before each job.
func (c Config) Under(rules func() (Launch, error)) Config {
	c.rules = rules
	return c
}

// Edit is the change of a file by a call. Before is nil for a new file, After for a removed
// one.
type Edit struct {
	Path          string // absolute, without links
	Before, After []byte
}

// maxFile bounds the text of a file that is sent to a server, in bytes.
const maxFile = 4 << 20

// Servers are the language servers of one session. Close ends them; nil has none.
type Servers struct {
	config Config
	life   context.Context // the session's
	end    context.CancelCauseFunc
	work   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	open   map[string]*server
	closed bool
}

// errClosed ends the servers.
var errClosed = errors.New("the session is closed")

// Open prepares the servers. None starts before it is needed.
func Open(c Config) *Servers {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Servers{config: c, open: map[string]*server{}}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s
}

// of returns the server of a language, or nil after Close.
func (s *Servers) of(l Language) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	one := s.open[l.Name]
	if one == nil {
		one = newServer(l, &s.config)
		s.open[l.Name] = one
		s.work.Go(scope.Shield(func(err error) { // ends with the session
			one.broken(err)
			scope.LogPanic(s.config.Logger, nil, "a language server's owner panicked", err, "server", l.Name)
		}, func() { one.run(s.life) }))
	}
	return one
}

// languageOf returns the installed server of a file.
func (s *Servers) languageOf(path string) (Language, bool) {
	at := slices.IndexFunc(s.config.Languages, func(l Language) bool { return l.id(path) != "" })
	if at < 0 {
		return Language{}, false
	}
	return s.config.Languages[at], true
}

// Check returns the servers' report about edits: the new errors, that there are none, or the reason
// why they are not known. It is empty for files without a server, and waits at most for the
// timeout, or until ctx ends.
func (s *Servers) Check(ctx context.Context, edits []Edit) string {
	if s == nil || s.config.Timeout <= 0 {
		return ""
	}
	var order []Language
	var ignored []string
	by := map[string][]Edit{}
	for _, e := range edits {
		l, served := s.languageOf(e.Path)
		if !served || len(e.Before) > maxFile || len(e.After) > maxFile {
			continue
		}
		if l.ignores(s.config.Dir, e.Path) {
			ignored = append(ignored, fmt.Sprintf("%s: %s is in a folder that it does not check",
				l.Name, shown(s.config.Dir, e.Path)))
			continue
		}
		if by[l.Name] == nil {
			order = append(order, l)
		}
		by[l.Name] = append(by[l.Name], e)
	}
	notes := make([]string, len(order))
	var waiting sync.WaitGroup
	for n, l := range order {
		one := s.of(l)
		if one == nil {
			continue
		}
		waiting.Go(scope.Shield(func(error) {}, func() { // ends with the timeout
			var delivered bool
			notes[n], delivered = one.check(ctx, by[l.Name])
			if ctx.Err() != nil && !delivered {
				notes[n] = l.Name + ": the check of the errors was interrupted"
			}
		}))
	}
	waiting.Wait()
	all := slices.Concat(notes, ignored[:min(len(ignored), maxReported)])
	return strings.Join(slices.DeleteFunc(all, func(note string) bool { return note == "" }), "\n")
}

// Close ends all servers with their processes, in parallel. The error reports processes
// that did not end.
func (s *Servers) Close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errClosed)
	done := make(chan struct{})
	go func() { // ends when all servers have ended, each within a deadline
		defer close(done)
		s.work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for language servers to end: %w", context.Cause(ctx))
	}
	var err error
	for _, one := range s.open { // nothing adds to it any more
		err = errors.Join(err, one.left)
	}
	return err
}
