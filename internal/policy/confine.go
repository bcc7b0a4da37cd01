package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/repo"
)

// Sources of a decision, in addition to rules and the default.
const (
	byApproval = "allowed for the session"
	bySandbox  = "sandbox"
)

// confine sets the sandbox of a command, and reports whether the command changes the
// repository. A command that needs approval only because no rule decides runs in the sandbox
// without approval. Only an approval or a rule lets a command run outside the sandbox.
//
//	allowed, since it only reads ─► read-only, without secrets
//	        by a rule            ─► the rule's sandbox, else the sandbox in force
//	        by a client's mode   ─► the sandbox in force, without secrets
//	changes the repository       ─► none, after an approval
//	deletes or rewrites much     ─► the sandbox in force, after an approval
//	asked by default             ─► allowed, in the sandbox, without secrets
//	asked otherwise              ─► in the sandbox, after an approval
//	outside                      ─► none, after an approval
func (p *Policy) confine(l layer, c toolCall, verdicts []verdict, j *settle.Judgement) (git bool) {
	confinement := event.NoSandbox
	if p.config.Sandbox != nil {
		confinement = p.config.Sandbox(l.Mode)
	}
	named, ruled := c.freed(verdicts, confinement)
	switch {
	case j.Decision == event.Deny:
	case c.Outside && confinement.On() && !(ruled && named == event.NoSandbox):
		confinement = event.NoSandbox
		c.asksOutside(verdicts, j)
	case confinement == event.Workspace && !(ruled && named == event.NoSandbox) && p.asksForGit(c, j, verdicts):
		confinement, git = event.NoSandbox, true
	case ruled:
		if confinement = named; confinement.On() && j.Decision == event.Allow && sweeping(verdicts) {
			p.unasked(confinement, j)
		}
	// the sandbox enforces that the command only reads
	case j.Decision == event.Allow && j.Rule == byDefault && l.Permission != event.Allow:
		if j.Secrets = event.SecretsWithheld; p.config.Confine {
			confinement = event.ReadOnly
		}
	case j.Decision == event.Ask && confinement.On() && l.Permission == event.Ask &&
		byDefaultAlone(verdicts, j.Rule) && !c.Release && !c.showsSecret():
		j.Decision, j.Rule, j.Why = event.Allow, bySandbox, "it runs in the sandbox ("+string(confinement)+")"
		p.unasked(confinement, j)
	}
	if j.Decision == event.Allow && confinement.On() && l.Permission == event.Ask && l.Unasked == "" &&
		(j.Rule == bySandbox || sweeping(verdicts)) {
		if reasons := c.destructive(); len(reasons) > 0 {
			j.Decision, j.Rule, j.Why = event.Ask, byDefault, clip(strings.Join(reasons, "; "))
		}
	}
	if j.Decision != event.Deny && !confinement.On() && p.confines(l) {
		p.askAboutRisk(c, j)
		if j.Decision == event.Allow && j.Rule != byApproval {
			p.askAboutWords(c, verdicts, j)
		}
	}
	if confinement.On() && j.Decision != event.Deny {
		j.Sandbox = confinement
	}
	if !confinement.On() && j.Decision != event.Deny && p.confines(l) {
		p.namePrograms(c, j)
	}
	return git
}

// confines reports whether the mode in force has a sandbox for commands.
func (p *Policy) confines(l layer) bool {
	return p.config.Sandbox != nil && p.config.Sandbox(l.Mode).On()
}

// asksOutside requires an approval for a call that asks to run outside of the sandbox. A command
// that the sandbox would have confined without a question has no other reason.
func (c toolCall) asksOutside(verdicts []verdict, j *settle.Judgement) {
	switch {
	case j.Decision == event.Allow && j.Rule != byApproval:
		j.Decision, j.Rule, j.Why = event.Ask, bySandbox, ""
	case byDefaultAlone(verdicts, j.Rule) && !c.Release && !c.showsSecret() && !c.touchesOutside():
		j.Why = ""
	}
}

// touchesOutside reports whether the call reads or writes a place outside of the working directory, or
// one that only a rule that names it allows: a sandbox would have denied that.
func (c toolCall) touchesOutside() bool {
	return slices.ContainsFunc(c.effects, func(e effect) bool {
		return slices.ContainsFunc(append([]effect{e}, e.parts...), func(part effect) bool {
			return part.kind != names && part.leaves()
		})
	})
}

// joinReasons returns the reasons that are not empty, as one.
func joinReasons(reasons ...string) string {
	return strings.Join(slices.DeleteFunc(reasons, func(why string) bool { return why == "" }), "; ")
}

// dangerFirst begins the reason of a question that no rule decides with the destructive effect of
// the command: the same reason in a sandbox and without one. Destructive parts that a rule allows
// are no reason.
func (c *toolCall) dangerFirst(verdicts []verdict, j *settle.Judgement) {
	if c.tool != "shell" || len(c.Command) > maxCommand || j.Rule != byDefault {
		return
	}
	reasons := c.destructive()
	for i, v := range verdicts {
		if len(reasons) > 0 && v.Permission == event.Allow && v.rule != byDefault {
			part := *c
			part.Command = c.effects[i].text
			allowed := part.destructive()
			reasons = slices.DeleteFunc(reasons, func(why string) bool { return slices.Contains(allowed, why) })
		}
	}
	if len(reasons) > 0 && !strings.HasPrefix(j.Why, reasons[0]) {
		j.Why = clip(joinReasons(append(reasons, j.Why)...))
	}
}

// nameFailures names the files that the call writes although its sandbox denies that, and its git
// commands that change a repository which its sandbox keeps: both fail also after an approval.
func (p *Policy) nameFailures(c toolCall, j *settle.Judgement) {
	if c.tool != "shell" || !j.Sandbox.On() {
		return
	}
	if names := p.failingGit(c); len(names) > 0 {
		j.Why = joinReasons(j.Why, "it runs in the sandbox, where the repository is read-only, so "+
			clip(strings.Join(names, ", "))+" will fail; in a call of git alone, git runs outside")
	}
	if p.config.Writes == nil {
		return
	}
	var list []string
	for _, e := range c.effects {
		for _, part := range e.parts {
			if part.kind == effects.Writes && !p.config.Writes(j.Sandbox, part.place.real) {
				list = append(list, part.place.String())
			}
		}
	}
	if slices.Sort(list); len(list) > 0 {
		j.Why = joinReasons(j.Why, clip("it runs in the sandbox, where it cannot write "+
			strings.Join(slices.Compact(list), ", ")))
	}
}

// namePrograms names the programs of a call outside of the sandbox that sandboxed commands can
// change. A rule that allows "git *" means the system's git: if another file replaces it, the call
// needs an approval.
func (p *Policy) namePrograms(c toolCall, j *settle.Judgement) {
	var list []string
	programs, shadows := p.changeablePrograms(c)
	for _, f := range programs {
		list = append(list, fmt.Sprintf("%q is %q, which sandboxed commands can change", f.word, f.real))
	}
	if shadows && j.Decision == event.Allow && j.Rule != byApproval {
		j.Decision, j.Rule, j.Why = event.Ask, bySandbox, ""
	}
	for _, f := range c.changeableFiles() {
		list = append(list, fmt.Sprintf("%q is a file that sandboxed commands can change", f.word))
	}
	if slices.Sort(list); len(list) > 0 && j.Decision == event.Ask {
		j.Why = clip(joinReasons(j.Why, strings.Join(slices.Compact(list), "; ")))
	}
}

// askAboutRisk asks about a call that runs git outside the sandbox while a sandboxed command can change
// the repository: git would run the hooks that the command makes. If none can, git runs alone: no
// sandboxed command starts before it has exited. A question that names the risk lets it run beside them.
func (p *Policy) askAboutRisk(c toolCall, j *settle.Judgement) {
	calls := c.gitCalls()
	if p.config.GitRisk == nil || len(calls) == 0 || c.Outside && !c.sharesAll() && j.Decision == event.Ask {
		return
	}
	switch why := p.gitRisk(c, calls); {
	case why == "":
		before := j.Decision
		j.Alone = func() error { return p.confirm(c.approval, before) }
	case j.Decision == event.Allow:
		j.Decision, j.Rule, j.Why = event.Ask, bySandbox, why
	default:
		j.Why = clip(joinReasons(j.Why, why))
	}
}

// gitRisk returns why sandboxed commands could change a repository while git runs there; empty if none
// can.
func (p *Policy) gitRisk(c toolCall, calls []gitCall) string {
	if c.Background || c.YieldMS > 0 || c.Release {
		return "git can run on as a job, beside sandboxed commands that may change the repository that it finds"
	}
	for _, g := range calls {
		paths := found(g.dir, c.Command)
		if entersSubmodules(calls) {
			paths = nil
		}
		if why := p.config.GitRisk(paths); why != "" {
			return why
		}
	}
	return ""
}

// confirm judges a call again when it starts alone, and returns why it must not start.
func (p *Policy) confirm(a settle.Approval, before event.Permission) error {
	now := p.Judge(a)
	if now.Decision == event.Deny || now.Alone == nil ||
		before == event.Allow && now.Decision != event.Allow {
		return fmt.Errorf("git was not started: %s. This was not the case when the call was allowed; "+
			"call it again, and it is decided anew", now.Why)
	}
	return nil
}

// found returns the paths at which git finds its repository from a directory. It returns
// none if git may obey another repository as well, such as one of a submodule.
func found(dir, command string) []string {
	for _, word := range []string{"--git-dir", "--work-tree", "--exec-path", "GIT_"} {
		if strings.Contains(command, word) {
			return nil
		}
	}
	real, err := disk.Resolve(dir)
	if err != nil {
		return nil
	}
	git, err := repo.FindGit(real)
	if err != nil || git.Top == "" {
		return nil
	}
	if index, err := git.Index(); err != nil || index.Submodules {
		return nil
	}
	return []string{filepath.Join(real, ".git"), git.Own, git.Common}
}

// confineStart sets the sandbox of programs that a client named and that a call starts: the
// sandbox in force, unless a rule that allows their start names another one.
func (p *Policy) confineStart(l layer, c toolCall, verdicts []verdict, j *settle.Judgement) {
	var own []verdict
	for i, e := range c.effects {
		if e.kind == starts {
			own = append(own, verdicts[i])
		}
	}
	sandbox := p.config.Sandbox
	if p.config.StartSandbox != nil {
		sandbox = p.config.StartSandbox
	}
	if len(own) == 0 || sandbox == nil || j.Decision == event.Deny {
		return
	}
	confinement := sandbox(l.Mode)
	if named, ruled := (toolCall{}).freed(own, confinement); ruled {
		confinement = named
	}
	if confinement.On() {
		j.Sandbox = confinement
	}
}

// unasked withholds secrets from a command that runs in a sandbox without an approval. If
// that is impossible, the command needs an approval.
func (p *Policy) unasked(confinement event.Sandbox, j *settle.Judgement) {
	j.Secrets = event.SecretsWithheld
	if p.config.Exposes == nil {
		return
	}
	if why := p.config.Exposes(confinement); why != "" {
		j.Decision, j.Rule, j.Why, j.Secrets = event.Ask, bySandbox, why, ""
	}
}

// sweeping reports whether a rule of the mode, instead of a rule of the user, allows a
// command without naming it.
func sweeping(verdicts []verdict) bool {
	return slices.ContainsFunc(verdicts, func(v verdict) bool { return v.sweeping })
}

// asksForGit requires an approval for a call that changes a repository which is read-only
// in the sandbox, and reports whether the call does. An approved call stays approved.
func (p *Policy) asksForGit(c toolCall, j *settle.Judgement, verdicts []verdict) bool {
	calls := p.changesGit(c)
	if calls == nil {
		return false
	}
	var names []string
	for _, g := range calls {
		names = append(names, "git "+g.name)
	}
	slices.Sort(names)
	if j.Decision == event.Allow && j.Rule != byApproval || j.Decision == event.Ask &&
		byDefaultAlone(verdicts, j.Rule) {
		j.Decision, j.Rule = event.Ask, bySandbox
		names = slices.Compact(names)
		verb := "changes"
		if len(names) > 1 {
			verb = "change"
		}
		j.Why = strings.Join(names, ", ") + " " + verb +
			" the repository, which is read-only in the sandbox, so it must run outside the sandbox"
	}
	return true
}

// freed returns the strictest sandbox of the rules that allow the call, if each of its
// commands only reads or is allowed by a rule. A command that only reads, by no rule, needs the sandbox
// in force: outside, it would read what a link of a sandboxed command leads to.
func (c toolCall) freed(verdicts []verdict, confinement event.Sandbox) (sandbox event.Sandbox, ruled bool) {
	sandbox = event.NoSandbox
	for i, v := range verdicts {
		switch {
		case v.Permission != event.Allow || v.rule == byApproval:
			return "", false
		case v.rule == byDefault:
			if i < len(c.effects) && c.effects[i].kind == runs &&
				!(c.effects[i].known && c.sharesCall(c.effects[i].words)) {
				sandbox = Stricter(sandbox, confinement)
			}
			continue
		case v.sandbox == "":
			v.sandbox = confinement
		}
		ruled, sandbox = true, Stricter(sandbox, v.sandbox)
	}
	return sandbox, ruled
}

// Stricter returns the stricter of two sandboxes.
func Stricter(a, b event.Sandbox) event.Sandbox {
	for _, s := range []event.Sandbox{event.ReadOnly, event.Workspace} {
		if a == s || b == s {
			return s
		}
	}
	return event.NoSandbox
}

// byDefaultAlone reports whether no rule takes part in the decision.
func byDefaultAlone(verdicts []verdict, worst string) bool {
	for _, v := range verdicts {
		if v.Permission != event.Allow && (v.rule != byDefault || v.uncertain) {
			return false
		}
	}
	return worst == byDefault
}

// showsSecret reports whether the call reads a file in the working directory that can
// contain secrets: a sandbox would allow the read.
func (c toolCall) showsSecret() bool {
	for _, e := range c.effects {
		for _, part := range slices.Concat(e.parts, []effect{e}) {
			reads := part.kind == effects.Reads || part.kind == names
			if reads && part.place.inside && (part.place.secret() || part.sensitive) {
				return true
			}
		}
	}
	return false
}
