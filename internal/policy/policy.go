package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
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
	// Sandbox is what the protocol's mode confines commands to; empty leaves it to
	// what is configured.
	Sandbox event.Sandbox
	Extent  Extent
}

// Extent is what a mode adds to its sandbox.
type Extent struct {
	// Write are folders that may be changed as well, absolute.
	Write []string
	// Network is on or off; empty is what is configured.
	Network string
}

// Config is what a policy is made of.
type Config struct {
	// Mode returns the mode in force.
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
	// Remote says that the working directory is on another machine, where paths cannot be
	// resolved: a path is judged as one that leads through no link.
	Remote bool
	// ReadOnlyGit says that the repository of the working directory cannot be changed in
	// a sandbox that may change files.
	ReadOnlyGit bool
	// Sandbox, if set, returns what other commands are confined to in a mode. Where
	// it is one that confines, a command in it needs no approval.
	Sandbox func(Mode) event.Sandbox
	// StartSandbox, if set, returns what programs of clients are confined to in a mode,
	// where that is not what Sandbox says: commands run on another machine.
	StartSandbox func(Mode) event.Sandbox
	// Exposes, if set, says why files with secrets cannot be kept from a command in a
	// sandbox; empty if they can. Such a command is asked about.
	Exposes func(event.Sandbox) string
}

// Policy judges the calls of a session. It is safe for concurrent use, and
// implements [settle.Judge].
type Policy struct {
	config Config

	mu       sync.Mutex        // guards what follows
	approved map[string]string // calls that were approved for the session, with what they are to a person
}

// layer is a mode whose rules have been understood.
type layer struct {
	Mode
	rules []rule
}

// New returns the policy. The error names each rule that cannot be understood,
// counting from 1.
func New(c Config) (*Policy, error) {
	if !filepath.IsAbs(c.Home) {
		c.Home = ""
	}
	p := &Policy{config: c, approved: map[string]string{}}
	_, err := p.inForce()
	return p, err
}

// inForce returns the mode in force.
func (p *Policy) inForce() (layer, error) {
	l := layer{Mode: p.config.Mode()}
	l.Permission = cmp.Or(l.Permission, event.Ask)
	var errs []error
	if l.Permission.Strictness() < 0 {
		errs = append(errs, fmt.Errorf("cannot use the permission %q: it is not one of allow, ask, deny", l.Permission))
	}
	for i, r := range slices.Concat(l.Mode.Rules, p.config.Rules) {
		understood, err := newRule(r, p.config.Dir, p.config.Home)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot use rule %d (%s %s): %w", i+1, r.Tool, r.Pattern, err))
			continue
		}
		understood.ofMode = i < len(l.Mode.Rules)
		l.rules = append(l.rules, understood)
	}
	return l, errors.Join(errs...)
}

// Judge says whether the call may run. It looks at the file system, and
// changes and starts nothing.
func (p *Policy) Judge(a settle.Approval) settle.Judgement {
	l, err := p.inForce()
	j := settle.Judgement{Decision: event.Deny, Rule: "rules"}
	if err != nil {
		j.Why = err.Error()
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
	key, covers := c.grant()
	p.mu.Lock()
	_, approved := p.approved[key]
	p.mu.Unlock()
	verdicts, worst := make([]verdict, len(c.effects)), verdict{}
	for i, e := range c.effects {
		if verdicts[i] = l.verdict(c, e); approved && verdicts[i].Permission != event.Deny {
			verdicts[i] = because(event.Allow, byApproval, "it was approved for the session")
		}
		worst = stricter(worst, verdicts[i])
	}
	if worst.Permission == event.Allow && p.config.Release == event.Ask && c.releases() && !approved {
		worst = because(event.Ask, "jobs.release", "it lets a process outlive settle (jobs.release)")
	}
	j := settle.Judgement{Decision: worst.Permission, Rule: worst.rule, Why: clip(worst.why), Places: c.places}
	if c.tool == "shell" {
		p.confine(l, c, verdicts, &j)
	} else {
		p.confineStart(l, c, verdicts, &j)
	}
	switch {
	case j.Decision == event.Ask && c.tool == "shell" && len(c.Command) > maxCommand:
		return settle.Judgement{Decision: event.Deny, Rule: byDefault, Why: "it would have to be approved, and is too long to be shown whole"}
	case j.Decision == event.Ask:
		j.Detail, j.Covers = c.detail(verdicts), covers
	}
	return j
}

// Places implements [settle.Placer].
func (p *Policy) Places(a settle.Approval) []event.ResolvedPath { return p.look(a).places }

// Remember is told that a person approved the call for the session. From now
// on the same call is allowed, unless a rule denies it: the same command to
// the letter, in the same directory; for reading and editing a file that is
// neither secret nor guarded, the same file: the one that its path led to when the
// call was judged, which the call says.
func (p *Policy) Remember(a settle.Approval) {
	c := p.look(a)
	key, _ := c.grant()
	shown := cmp.Or(a.Title, a.Tool.Name)
	for _, linked := range disk.ThroughLinks(c.workspace.dir, c.places) {
		shown += " (" + disk.Arrow(c.workspace.dir, linked) + ")"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approved[key] = shown
}
