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
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/web"
)

// Mode is a named mode of a protocol, such as "plan": the decision about calls that no rule
// decides, and additional rules.
type Mode struct {
	Name       string
	Permission event.Permission // empty means Ask
	// Rules precede the user's own rules; the last matching rule decides.
	Rules []config.Rule
	// Unasked, if set, denies each call that needs an approval, and names the declaration
	// of this (C16).
	Unasked string
	// Sandbox is the sandbox of the protocol's mode; empty for the configured sandbox.
	Sandbox event.Sandbox
	// Plan allows only calls that change nothing, until a person accepts a plan: rules and
	// approvals that allow have no effect, and calls that could change something are denied without
	// a question.
	Plan   bool
	Extent Extent
}

// Extent extends the sandbox of a mode.
type Extent struct {
	// Write are additional folders that commands can change, absolute. The client named
	// them.
	Write []string
	// Temporary are the protocol's folders for temporary files, which commands can change
	// unless such a folder contains a protected one.
	Temporary []string
	// Network is on or off; empty for the configured network.
	Network string
}

// Config configures a policy.
type Config struct {
	// Mode returns the mode in force.
	Mode func() Mode
	// Rules in the order of their files. A rule that denies always wins; among other rules
	// the last match wins.
	Rules []config.Rule
	// Release decides calls that release a process from the session, regardless of rules
	// that allow them.
	Release event.Permission
	// Reviewed, if set, makes the final decision about each call.
	Reviewed func(settle.Approval, settle.Judgement) settle.Judgement
	// Dir is the absolute working directory.
	Dir string
	// Home is the user's home directory, which replaces "~"; can be empty.
	Home string
	// Environ is the environment of commands, in the form of [os.Environ].
	Environ []string
	// Opaque reports that commands do not run in a shell like bash, or that the programs
	// they find are unknown: none can be judged.
	Opaque bool
	// Confine reports that sandboxes are available here: commands that are allowed because
	// they only read run in a read-only sandbox.
	Confine bool
	// Remote reports that the working directory is on another machine, where this machine
	// cannot resolve links: a path is judged as a path without links.
	Remote bool
	// ReadOnlyGit reports that the repository of the working directory is read-only in
	// sandboxes that can change files.
	ReadOnlyGit bool
	// Sandbox, if set, returns the sandbox of other commands in a mode. A command in a
	// sandbox needs no approval.
	Sandbox func(Mode) event.Sandbox
	// Writes, if set, reports whether commands in a sandbox can change files at a path without links.
	Writes func(confinement event.Sandbox, path string) bool
	// StartSandbox, if set, returns the sandbox of clients' programs in a mode, if Sandbox
	// does not apply because commands run on another machine.
	StartSandbox func(Mode) event.Sandbox
	// Exposes, if set, returns the reason why a sandbox cannot hide files with secrets from
	// a command; empty if it can. Such a command needs an approval.
	Exposes func(event.Sandbox) string
	// Hidden, if set, reports whether a file was hidden from a command, possibly under
	// another name.
	Hidden func(path string) bool
	// GitRisk, if set, returns the reason why a running sandboxed command can change the
	// repository that git finds at some paths; empty if none can. An empty list means that
	// git finds its repository in another way.
	GitRisk func(paths []string) string
	// Protected, if set, returns the files and folders, without links, that programs of the
	// user obey because a configuration names them or a link leads to them.
	Protected func() []string
}

// Policy judges the calls of a session. It is safe for concurrent use, and implements
// [settle.Judge].
type Policy struct {
	config Config
	// real is the working directory without links when the policy was made. A command can
	// exchange the directory for a link later, which leads out of it.
	real string

	mu       sync.Mutex        // guards the fields below
	approved map[string]string // approvals for the session, with their text for people
}

// layer is a mode with compiled rules.
type layer struct {
	Mode
	name  string // as in settle.Judgement.Mode
	rules []rule
	// review reports that a reviewer decides before a person is asked.
	review bool
	// trial reports that the rules have suggested ones, which are tried.
	trial bool
}

// New returns the policy. Its error names each invalid rule, counting from 1.
func New(c Config) (*Policy, error) {
	if !filepath.IsAbs(c.Home) {
		c.Home = ""
	}
	p := &Policy{config: c, approved: map[string]string{}}
	if w, err := newWorkspace(c.Dir, c.Remote); err == nil {
		p.real = w.real
	}
	_, err := p.inForce()
	return p, err
}

// inForce returns the mode in force.
func (p *Policy) inForce() (layer, error) {
	l := layer{Mode: p.config.Mode()}
	l.Permission = cmp.Or(l.Permission, event.Ask)
	if l.name = string(l.Permission); l.Plan {
		l.name = "plan"
	}
	if l.Permission == event.Review {
		l.Permission, l.Mode.Permission, l.review = event.Ask, event.Ask, true
	}
	var errs []error
	if l.Permission.Strictness() < 0 {
		errs = append(
			errs, fmt.Errorf("cannot use the permission %q: it is not one of allow, review, ask, deny", l.Permission),
		)
	}
	for i, r := range slices.Concat(l.Mode.Rules, p.config.Rules) {
		understood, err := newRule(r, p.config.Dir, p.config.Home)
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot use rule %d (%s %s): %w", i+1, r.Tool, r.Pattern, err))
			continue
		}
		if l.Plan && understood.Decision == event.Allow {
			continue
		}
		understood.ofMode = i < len(l.Mode.Rules)
		l.rules = append(l.rules, understood)
	}
	return l, errors.Join(errs...)
}

// Judge decides whether the call can run. It only reads the file system, and starts
// nothing.
func (p *Policy) Judge(a settle.Approval) settle.Judgement {
	l, err := p.inForce()
	j := settle.Judgement{Decision: event.Deny, Rule: "rules"}
	if err != nil {
		j.Why = err.Error()
	} else {
		j = p.judge(l, p.look(a))
	}
	if a.Tool.Name == plan.ProposeName && (j.Decision != event.Deny || j.Rule == byPlan) {
		j = settle.Judgement{
			Decision: event.Ask, Rule: plan.ProposeName, Why: "the agent has a plan", Covers: "no other plan",
		}
	}
	if j.Decision == event.Ask && l.Unasked != "" {
		j.Decision, j.Rule, j.Detail = event.Deny, l.Unasked, nil
	}
	if p.config.Reviewed != nil {
		j = p.config.Reviewed(a, j)
	}
	j.Mode = l.name
	return j
}

func (p *Policy) judge(l layer, c toolCall) settle.Judgement {
	key, covers := c.grant()
	p.mu.Lock()
	_, approved := p.approved[key]
	p.mu.Unlock()
	approved = approved && !l.Plan
	once := p.unrepeatable(l, c)
	if once {
		approved, covers = false, "no other call: sandboxed commands can change what a call outside of the sandbox runs"
	}
	verdicts, worst := make([]verdict, len(c.effects)), verdict{}
	for i, e := range c.effects {
		if verdicts[i] = l.verdict(c, e); approved && verdicts[i].Permission != event.Deny {
			verdicts[i] = because(event.Allow, byApproval, "it was allowed for the session")
		}
		worst = stricter(worst, verdicts[i])
	}
	if worst.Permission == event.Allow && p.config.Release == event.Ask && c.releases() && !approved {
		worst = because(event.Ask, "jobs.release", "it lets a process outlive settle (jobs.release)")
	}
	j := settle.Judgement{Decision: worst.Permission, Rule: worst.rule, Why: clip(worst.why), Places: c.places}
	git := false
	if c.tool == "shell" {
		git = p.confine(l, c, verdicts, &j)
	} else {
		p.confineStart(l, c, verdicts, &j)
	}
	if j.Decision == event.Ask {
		c.dangerFirst(verdicts, &j)
		if c.tool == "shell" && c.Outside && p.confines(l) {
			j.Why = clip(joinReasons("it asks to run outside the sandbox", j.Why))
		}
		if git {
			p.suggest(l, c, verdicts, &j)
		}
		p.nameFailures(c, &j)
	}
	switch {
	case j.Decision == event.Ask && l.Plan && !c.reads():
		return settle.Judgement{Decision: event.Deny, Rule: byPlan, Why: "plan mode changes nothing: " + j.Why}
	case j.Decision == event.Ask && c.tool == "shell" && len(c.Command) > maxCommand:
		return settle.Judgement{
			Decision: event.Deny, Rule: byDefault,
			Why: "it would have to be approved, and is too long to be shown whole",
		}
	case j.Decision == event.Ask:
		j.Detail, j.Covers, j.Once, j.Files = c.detail(verdicts), covers, once, p.filesOf(c)
		j.Review = l.review && reviewable(c, verdicts, j)
	}
	return j
}

// byPlan names the policy of plan mode.
const byPlan = "plan mode"

// reads reports whether the call changes nothing on this machine, so that a person can be asked
// about it in plan mode.
func (c toolCall) reads() bool {
	return c.readOnly || c.tool == web.FetchName || c.tool == web.SearchName
}

// unrepeatable reports whether an approval covers only one call: the call runs outside of
// the sandbox, and sandboxed commands can change a file that it runs before the next call.
func (p *Policy) unrepeatable(l layer, c toolCall) bool {
	if c.tool != "shell" || !p.confines(l) {
		return false
	}
	calls := c.gitCalls()
	return c.Outside || len(calls) > 0 && !c.sharesAll() ||
		slices.ContainsFunc(calls, func(g gitCall) bool { return len(p.risks(c.workspace, g)) > 0 })
}

// Places implements [settle.Placer].
func (p *Policy) Places(a settle.Approval) []event.ResolvedPath { return p.look(a).places }

// Remember records that a person approved the call for the session. The same call is then
// allowed unless a rule denies it: exactly the same command in the same directory; for
// reading and editing a file that is neither secret nor guarded, the same file, which the
// call's path led to when the call was judged. A call outside of the sandbox is asked about
// each time.
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
