package hooks

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/run"
)

// Bounds of a hook's run time.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 10 * time.Minute
	// endTimeout is the default timeout of hooks of a session's end; maxEndTimeout bounds a
	// longer one.
	endTimeout    = time.Second
	maxEndTimeout = 5 * time.Second
)

// Config configures the hooks of a session.
type Config struct {
	Hooks  []run.Hook
	Runner Runner
	Log    *journal.Log
	// Dir is the session's directory, absolute. Project is the project that hooks without a
	// directory receive; "" means Dir.
	Dir, Project string
	// Transcript is the file of the session's log; may be empty.
	Transcript string
	Permission event.Permission
	Model      string
	// Child means that the session is a child agent's.
	Child  bool
	Redact *redact.Redactor
	Logger *slog.Logger
}

// Set has the hooks of one session. A nil Set has none. It is safe for concurrent use.
type Set struct {
	Config
	byEvent map[event.HookEvent][]hook
}

// hook is a [run.Hook] with its parsed matcher.
type hook struct {
	run.Hook
	position int            // among the hooks of its event
	names    []string       // plain names; nil for all, or for a pattern
	pattern  *regexp.Regexp // nil for all, or for names
}

// New returns the session's hooks; nil if there are none.
func New(c Config) *Set {
	if len(c.Hooks) == 0 {
		return nil
	}
	if c.Project == "" {
		c.Project = c.Dir
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Set{Config: c, byEvent: map[event.HookEvent][]hook{}}
	for _, h := range c.Hooks {
		names, pattern, _ := ParseMatcher(h.Matcher) // an invalid matcher matches everything
		s.byEvent[h.Event] = append(s.byEvent[h.Event], hook{h, len(s.byEvent[h.Event]), names, pattern})
	}
	return s
}

// ParseMatcher parses a matcher: it returns names or a pattern, or neither if the matcher
// matches everything.
func ParseMatcher(matcher string) (names []string, pattern *regexp.Regexp, err error) {
	matcher = strings.TrimSpace(matcher)
	switch {
	case matcher == "" || matcher == "*":
		return nil, nil, nil
	case !strings.ContainsFunc(matcher, special):
		for name := range strings.FieldsFuncSeq(
			matcher, func(r rune) bool { return r == '|' || r == ',' || r == ' ' },
		) {
			names = append(names, name)
		}
		return names, nil, nil
	}
	pattern, err = regexp.Compile(matcher)
	return nil, pattern, err
}

// special reports whether a matcher with the character is a regular expression.
func special(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-|, ", r))
}

// matched returns the first name that the hook's matcher matches. An occasion without names
// matches every matcher.
func (h *hook) matched(names []string) (name string, ok bool) {
	for _, name := range names {
		all := h.pattern == nil && h.names == nil
		if all || h.pattern != nil && h.pattern.MatchString(name) || slices.Contains(h.names, name) {
			return name, true
		}
	}
	return "", len(names) == 0
}

// On reports whether there is a hook for the event.
func (s *Set) On(e event.HookEvent) bool { return s != nil && len(s.byEvent[e]) > 0 }

// timeout returns the hook's timeout.
func (h *hook) timeout() time.Duration { return TimeoutOf(h.Event, h.Timeout) }

// TimeoutOf returns the timeout of a hook that is configured with the given timeout; 0 selects
// the default.
func TimeoutOf(e event.HookEvent, configured time.Duration) time.Duration {
	usual, limit := DefaultTimeout, MaxTimeout
	if e == event.HookSessionEnd {
		usual, limit = endTimeout, maxEndTimeout
	}
	if configured <= 0 {
		return usual
	}
	return min(configured, limit)
}

// Runner runs a hook's command to its end. When Run returns, no process of the command runs.
// Run returns an error soon after ctx ends, and if the command cannot be started.
type Runner interface {
	Run(ctx context.Context, c Command) (Result, error)
}

// Command is a command for a Runner.
type Command struct {
	Line  string   // for the shell
	Args  []string // if set, Line is a program, and these are its arguments
	Dir   string
	Env   []string // added to the Runner's environment
	Stdin []byte
	// Project means that a project brings the hook, not the user.
	Project bool
}

// Result describes how a command ended.
type Result struct {
	Code           int
	Stdout, Stderr []byte
	// Truncated means that the output exceeded its bound. Lost means that the exit code is
	// unknown.
	Truncated, Lost bool
	Survivors       []event.Process
}
