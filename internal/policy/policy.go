package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
)

// Mode is what calls may do where nothing more is said, by a name that a
// protocol has for it, such as "plan".
type Mode struct {
	Name       string
	Permission event.Permission // empty is Ask
	// Rules come before the user's own: the last one that matches decides.
	Rules []config.Rule
	// Unasked, if set, says that what would have to be asked about is denied,
	// and names what declares that (C16).
	Unasked string
}

// Config is what a policy is made of.
type Config struct {
	// Mode returns the mode in force; two with the same name are the same.
	Mode func() Mode
	// Rules in the order of their files. One that denies always wins; of the
	// others the last one that matches.
	Rules []config.Rule
	// Release says of calls that let a process outlive settle whether they are
	// asked about, whatever else allows them.
	Release event.Permission
	// Reviewed, if set, has the last word about each call.
	Reviewed func(settle.Approval, settle.Judgement) settle.Judgement
	// Dir is the working directory, absolute.
	Dir string
	// Home is the user's home directory, what "~" stands for; may be empty.
	Home string
	// Environ is the environment of commands, as of [os.Environ].
	Environ []string
	// Opaque says that shell commands are not for a shell like bash, or that
	// it cannot be told which programs it finds: none can be judged.
	Opaque bool
	// Confine says that commands can be confined here: those that are allowed
	// because they only read are held to that.
	Confine bool
}

// Policy judges the calls of a session. It is safe for concurrent use, and
// implements [settle.Judge].
type Policy struct {
	config Config

	mu       sync.Mutex        // guards what follows
	mode     layer             // the one in force
	approved map[string]string // calls that were approved for the session, with what they are to a person
}

// layer is a mode whose rules have been understood.
type layer struct {
	Mode
	rules []rule
	err   error
}

// New returns the policy. The error names each rule that cannot be understood,
// counting from 1.
func New(c Config) (*Policy, error) {
	if !filepath.IsAbs(c.Home) {
		c.Home = ""
	}
	p := &Policy{config: c, approved: map[string]string{}}
	p.mode = p.understand(c.Mode())
	return p, p.mode.err
}

// understand reads the rules of a mode.
func (p *Policy) understand(m Mode) layer {
	m.Permission = cmp.Or(m.Permission, event.Ask)
	l := layer{Mode: m}
	var errs []error
	if m.Permission.Strictness() < 0 {
		errs = append(errs, fmt.Errorf("cannot use the permission %q: it is not one of allow, ask, deny", m.Permission))
	}
	for i, r := range slices.Concat(m.Rules, p.config.Rules) {
		understood, err := newRule(r, p.config.Dir, p.config.Home)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot use rule %d (%s %s): %w", i+1, r.Tool, r.Pattern, err))
			continue
		}
		l.rules = append(l.rules, understood)
	}
	l.err = errors.Join(errs...)
	return l
}

// inForce returns the mode in force.
func (p *Policy) inForce() layer {
	m := p.config.Mode()
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Name != p.mode.Name {
		p.mode = p.understand(m)
	}
	return p.mode
}

// Judge says whether the call may run. It looks at the file system, and
// changes and starts nothing.
func (p *Policy) Judge(a settle.Approval) settle.Judgement {
	l := p.inForce()
	j := settle.Judgement{Decision: event.Deny, Rule: "rules"}
	if l.err != nil {
		j.Why = l.err.Error()
	} else {
		j = p.judge(l, p.look(a))
	}
	if j.Decision == event.Ask && l.Unasked != "" {
		j.Decision, j.Rule, j.Detail = event.Deny, l.Unasked, nil
	}
	if p.config.Reviewed != nil {
		j = p.config.Reviewed(a, j)
	}
	return j
}

func (p *Policy) judge(l layer, c toolCall) settle.Judgement {
	approved := p.remembers(c)
	verdicts := make([]verdict, len(c.effects))
	worst := 0
	for i, e := range c.effects {
		verdicts[i] = l.verdict(c, e)
		if approved && verdicts[i].Permission != event.Deny {
			verdicts[i] = verdict{event.Allow, "approved for the session", "it was approved for the session"}
		}
		if stricter(verdicts[worst], verdicts[i]) != verdicts[worst] {
			worst = i
		}
	}
	j := settle.Judgement{Decision: verdicts[worst].Permission, Rule: verdicts[worst].rule, Why: clip(verdicts[worst].why)}
	if j.Decision == event.Allow && p.config.Release == event.Ask && c.releases() && !approved {
		j = settle.Judgement{Decision: event.Ask, Rule: "jobs.release", Why: "it lets a process outlive settle (jobs.release)"}
	} else if more := len(slices.DeleteFunc(slices.Clone(verdicts), func(v verdict) bool { return v.Permission != j.Decision })) - 1; more > 0 && j.Decision != event.Allow {
		j.Why += fmt.Sprintf(" (and %d more)", more)
	}
	if j.Decision != event.Ask {
		// No rule allowed it, and nobody did: it is held to what it seems to do.
		j.Confined = p.config.Confine && j.Decision == event.Allow && verdicts[worst].rule == byDefault && l.Permission != event.Allow && c.tool == "shell"
		return j
	}
	if c.tool == "shell" && len(c.Command) > maxCommand {
		return settle.Judgement{Decision: event.Deny, Rule: byDefault, Why: "it would have to be approved, and is too long to be shown whole"}
	}
	j.Detail, j.Covers = c.detail(verdicts), c.covers()
	return j
}

// releases reports whether a call would let a process outlive settle.
func (c toolCall) releases() bool {
	return c.tool == "shell" && c.Release || c.tool == "job" && c.Action == "release"
}

// Remember is told that a person approved the call for the session. From now
// on the same call is allowed, unless a rule denies it: the same command to
// the letter, in the same directory; for reading and editing a file that is
// neither secret nor guarded, the same file.
func (p *Policy) Remember(a settle.Approval) {
	c := p.look(a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approved[c.key()] = cmp.Or(a.Title, a.Tool.Name)
}

func (p *Policy) remembers(c toolCall) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.approved[c.key()]
	return known
}

// covers says what key has in common with other calls.
func (c toolCall) covers() string {
	if c.tool == "shell" {
		return "the same command, to the letter, in the same directory"
	}
	if e, ok := c.single(); ok && e.kind == reads {
		return "reading " + e.place.String() + " again"
	} else if ok {
		return "every later change of " + e.place.String()
	}
	return "the same call, to the letter"
}

// single returns the only effect of a call, if all calls with it are alike.
func (c toolCall) single() (effect, bool) {
	if len(c.effects) != 1 || c.tool == "grep" || c.tool == "glob" {
		return effect{}, false
	}
	e := c.effects[0]
	return e, e.kind == reads || e.kind == writes && !e.place.guarded()
}

// key is the same for two calls only if what was shown of one is what the
// other does.
func (c toolCall) key() string {
	if c.tool == "shell" {
		return fmt.Sprintf("%s\x00%s\x00%s\x00%t%t%t", c.tool, c.Workdir, c.Command, c.Background, c.Release, c.TTY)
	}
	if e, ok := c.single(); ok {
		return string(e.kind) + "\x00" + e.place.real
	}
	var b bytes.Buffer
	if json.Compact(&b, c.raw) != nil {
		b.Write(c.raw)
	}
	return c.tool + "\x00" + b.String()
}
