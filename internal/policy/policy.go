package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// Decision is what a rule, or a policy, says of a call.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Rule decides about the calls that it matches.
type Rule struct {
	// Tool is the name of a tool, or "*" for all. A rule for one of edit,
	// write and apply_patch is for all that changes files, and one for read is
	// for all that reads them, by shell commands too where that can be seen.
	Tool string
	// Pattern is of what the call does: for shell, the words of one command;
	// for job, its action; for others, a path. Empty matches every call.
	Pattern  string
	Decision Decision
	// Tightens says that the rule is somebody else's, a repository's: it may
	// forbid and ask, but where it asks it does not undo a default of Deny,
	// and it may not allow.
	Tightens bool
}

// Request is a call that wants to run.
type Request struct {
	Tool      string
	ReadOnly  bool
	Arguments json.RawMessage
	// Dir is the session's working directory, absolute.
	Dir string
}

// Judgement is what a policy says of a call.
type Judgement struct {
	Decision Decision
	// Rule names what decided: "rule shell git *", "default" or "approved for
	// the session".
	Rule string
	// Why is one line for a person.
	Why string
	// Detail is what a face shows of a call that is asked about: of type
	// [Commands] for shell, [file.Changes] for write, edit and apply_patch;
	// nil for others.
	Detail json.RawMessage
	// Covers says what remembering the call would allow, where it is asked
	// about.
	Covers string
}

// Config is what a policy is made of.
type Config struct {
	// Default decides where no rule does; empty is Ask.
	Default Decision
	// Rules in the order of their files. One that denies always wins; of the
	// others the last one that matches.
	Rules []Rule
	// Dir is the working directory where a request names none, absolute.
	Dir string
	// Home is the user's home directory, what "~" stands for; may be empty.
	Home string
	// Environ is the environment of commands, as of [os.Environ].
	Environ []string
	// Opaque says that shell commands are not for a shell like bash, or that
	// it cannot be told which programs it finds: none can be judged.
	Opaque bool
}

// Policy judges calls. It is safe for concurrent use.
type Policy struct {
	otherwise Decision
	rules     []rule
	dir       string
	environ   []string
	opaque    bool

	mu       sync.Mutex
	approved map[string]bool // guarded by mu; see Remember
}

// New returns the policy. The error names each rule that cannot be understood,
// counting from 1.
func New(c Config) (*Policy, error) {
	p := &Policy{otherwise: c.Default, dir: c.Dir, environ: c.Environ, opaque: c.Opaque, approved: map[string]bool{}}
	var errs []error
	switch c.Default {
	case "":
		p.otherwise = Ask
	case Allow, Ask, Deny:
	default:
		errs = append(errs, fmt.Errorf("cannot use the default %q: it is not one of allow, ask, deny", c.Default))
	}
	if !filepath.IsAbs(c.Home) {
		c.Home = ""
	}
	for i, r := range c.Rules {
		understood, err := newRule(r, c.Home)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot use rule %d (%s %s): %w", i+1, r.Tool, r.Pattern, err))
			continue
		}
		p.rules = append(p.rules, understood)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// Judge says whether the call may run. It looks at the file system, and
// changes and starts nothing.
func (p *Policy) Judge(r Request) Judgement {
	c := p.look(r)
	approved := p.remembers(c)
	verdicts := make([]verdict, len(c.effects))
	worst := 0
	for i, e := range c.effects {
		verdicts[i] = p.verdict(c, e)
		if approved && verdicts[i].Decision != Deny {
			verdicts[i] = verdict{Allow, "approved for the session", "it was approved for the session"}
		}
		if verdicts[i].weight() > verdicts[worst].weight() {
			worst = i
		}
	}
	j := Judgement{Decision: verdicts[worst].Decision, Rule: verdicts[worst].rule, Why: clip(oneLine(verdicts[worst].why))}
	if more := like(verdicts, worst); more > 0 && j.Decision != Allow {
		j.Why += fmt.Sprintf(" (and %d more)", more)
	}
	if j.Decision != Ask {
		return j
	}
	if c.Tool == "shell" && len(c.Command) > maxCommand {
		return Judgement{Decision: Deny, Rule: byDefault, Why: "it would have to be approved, and is too long to be shown whole"}
	}
	j.Detail, j.Covers = p.detail(c, verdicts), c.covers()
	return j
}

// like counts what else has the decision.
func like(verdicts []verdict, worst int) int {
	n := -1
	for _, v := range verdicts {
		if v.Decision == verdicts[worst].Decision {
			n++
		}
	}
	return n
}

// Remember is told that a person approved the call for the session. From now
// on the same call is allowed, unless a rule denies it: the same command to
// the letter, in the same directory; for reading and editing a file that is
// neither secret nor guarded, the same file.
func (p *Policy) Remember(r Request) {
	c := p.look(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approved[c.key()] = true
}

func (p *Policy) remembers(c call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.approved[c.key()]
}

// covers says what key has in common with other calls.
func (c call) covers() string {
	if c.Tool == "shell" {
		return "the same command, to the letter, in the same directory"
	}
	if e, ok := c.one(); ok && e.kind == reads {
		return "reading " + e.place.String() + " again"
	} else if ok {
		return "every later change of " + e.place.String()
	}
	return "the same call, to the letter"
}

// one returns the only effect of a call, if all calls with it are alike.
func (c call) one() (effect, bool) {
	if len(c.effects) != 1 || c.Tool == "grep" || c.Tool == "glob" {
		return effect{}, false
	}
	e := c.effects[0]
	return e, e.kind == reads || e.kind == writes && !e.place.guarded()
}

// key is the same for two calls only if what was shown of one is what the
// other does.
func (c call) key() string {
	if c.Tool == "shell" {
		return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%t%t%t", c.Tool, c.Dir, c.Workdir, c.Command, c.Background, c.Release, c.TTY)
	}
	if e, ok := c.one(); ok {
		return string(e.kind) + "\x00" + e.place.real
	}
	var b bytes.Buffer
	if json.Compact(&b, c.Arguments) != nil {
		b.Write(c.Arguments)
	}
	return c.Tool + "\x00" + c.Dir + "\x00" + b.String()
}
