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

// The limits of a hook.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 10 * time.Minute
	// endTimeout is what hooks at a session's end have, unless they ask for more;
	// mostEndTimeout is the most.
	endTimeout    = time.Second
	maxEndTimeout = 5 * time.Second
)

// Config is what hooks of a session need.
type Config struct {
	Hooks  []run.Hook
	Runner Runner
	Log    *journal.Log
	// Dir is the session's directory, absolute, Project the one that hooks without
	// one of their own are told; Dir if it is empty.
	Dir, Project string
	// Transcript is the file of the session's log; may be empty.
	Transcript string
	Permission event.Permission
	Model      string
	// Child says that the session is that of a child agent.
	Child  bool
	Redact *redact.Redactor
	Logger *slog.Logger
}

// Set are the hooks of one session. A nil Set has none. It is safe for concurrent
// use.
type Set struct {
	Config
	byEvent map[event.HookEvent][]hook
}

// hook is a Hook whose matcher is read.
type hook struct {
	run.Hook
	names   []string       // simple names; nil for all, or for a pattern
	pattern *regexp.Regexp // nil for all, or for names
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
		names, pattern, _ := ParseMatcher(h.Matcher) // one that is not understood matches everything
		s.byEvent[h.Event] = append(s.byEvent[h.Event], hook{h, names, pattern})
	}
	return s
}

// ParseMatcher reads a matcher: names, or a pattern; neither for everything.
func ParseMatcher(matcher string) (names []string, pattern *regexp.Regexp, err error) {
	matcher = strings.TrimSpace(matcher)
	switch {
	case matcher == "" || matcher == "*":
		return nil, nil, nil
	case !strings.ContainsFunc(matcher, special):
		for name := range strings.FieldsFuncSeq(matcher, func(r rune) bool { return r == '|' || r == ',' || r == ' ' }) {
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

// matched returns the first of the names that the hook's matcher means. An occasion
// without names is meant by every matcher.
func (h *hook) matched(names []string) (name string, ok bool) {
	for _, name := range names {
		all := h.pattern == nil && h.names == nil
		if all || h.pattern != nil && h.pattern.MatchString(name) || slices.Contains(h.names, name) {
			return name, true
		}
	}
	return "", len(names) == 0
}

// On reports whether there is a hook for the occasion.
func (s *Set) On(e event.HookEvent) bool { return s != nil && len(s.byEvent[e]) > 0 }

// timeout is how long the hook has.
func (h *hook) timeout() time.Duration { return TimeoutOf(h.Event, h.Timeout) }

// Limit is how long a hook may run that asks for so long; 0 asks for the usual.
func TimeoutOf(e event.HookEvent, asked time.Duration) time.Duration {
	usual, most := DefaultTimeout, MaxTimeout
	if e == event.HookSessionEnd {
		usual, most = endTimeout, maxEndTimeout
	}
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

// Runner runs a hook's command to its end. Nothing of it is left when Run returns. It
// returns soon after ctx ends, with an error; so it does where the command could not
// be started.
type Runner interface {
	Run(ctx context.Context, c Command) (Result, error)
}

// Command is what a Runner runs.
type Command struct {
	Line  string   // for the shell
	Args  []string // if set, Line is a program, and these its arguments
	Dir   string
	Env   []string // beside the Runner's
	Stdin []byte
}

// Result is how a command ended.
type Result struct {
	Code           int
	Stdout, Stderr []byte
	// Truncated says that there was more output than anybody reads, Lost that nobody
	// knows the code.
	Truncated, Lost bool
	Survivors       []event.Process
}
