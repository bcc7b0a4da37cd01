package appserver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
)

// open opens a session as the client asks, in the directory, and follows it.
func (s *Server) open(ctx context.Context, id, dir string, p setup) (*loadedThread, error) {
	rights, err := s.rights(dir, p)
	if err != nil {
		return nil, err
	}
	policy := assemble.NewPolicy(rights.Mode(s.Sessions.Base.Getenv("TMPDIR")))
	model, effort, err := s.model(
		dir, cmp.Or(p.Model, p.text("model"), p.lastModel), p.ModelProvider,
		cmp.Or(p.text("model_reasoning_effort"), p.lastEffort),
	)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"model": model, "effort": effort}
	if policy.Mode().Permission == settle.Allow && p.asksForRights() {
		settings["permission"] = string(settle.Allow) // it was asked for by name, wherever that is
	}
	maps.DeleteFunc(settings, func(_, value string) bool { return value == "" })
	servers := newServerStates()
	spec := assemble.SessionSpec{Dir: dir, Settings: settings, Options: func(a *assemble.Options) {
		a.Policy, a.System, a.Append = policy, p.BaseInstructions, cmp.Or(
			p.DeveloperInstructions, p.text("developer_instructions"),
		)
		a.Seen = servers.seen
		s.bring(a, dir, p)
		if p.Ephemeral {
			a.Keeping = assemble.Ephemeral
		}
	}}
	opened, err := s.Sessions.Open(ctx, id, spec)
	if err != nil {
		return nil, notFound(id, err)
	}
	l := &loadedThread{
		s:          s,
		opened:     opened,
		policy:     policy,
		ephemeral:  p.Ephemeral,
		done:       make(chan struct{}),
		rights:     rights,
		servers:    servers,
		translator: newTranslator(opened.State()),
	}
	l.status = l.translator.status
	l.subscribed.Store(true)
	l.asker = asker.New(s.Life, asker.Options{Session: opened, Ask: l.ask, Fill: l.fill, By: s.Client, Failed: s.Tell})
	s.threads.Put(id, l)
	cursor := l.translator.state().Seq
	s.Go(func() { l.follow(cursor) }) // ends when the session is closed
	for _, n := range opened.Agent.Notes {
		s.Tell(errors.New(n))
	}
	return l, nil
}

// asksForRights reports whether the client sets the thread's permissions.
func (p setup) asksForRights() bool {
	return p.Sandbox != "" || p.Permissions != "" || p.text("sandbox_mode") != ""
}

// rights returns the permissions that a client requests, bounded by the configured permission.
func (s *Server) rights(dir string, p setup) (codex.Rights, error) {
	r, err := s.Sessions.Settings(dir, nil)
	if err != nil {
		return codex.Rights{}, err
	}
	out, err := s.preset(cmp.Or(r.Permission, settle.Ask))
	if err != nil {
		return codex.Rights{}, err
	}
	rights := p.RequestedRights
	if policy := p.text("approval_policy"); policy != "" && !isGiven(rights.ApprovalPolicy) {
		rights.ApprovalPolicy = codex.Approval(policy).JSON()
	}
	rights.Sandbox = cmp.Or(rights.Sandbox, codex.Sandbox(p.text("sandbox_mode")))
	if err := out.Set(rights); err != nil {
		return codex.Rights{}, err
	}
	if given, ok := p.Config["sandbox_workspace_write"].(map[string]any); ok &&
		out.SandboxMode() == codex.WorkspaceWrite {
		roots, _ := given["writable_roots"].([]any)
		for _, root := range roots {
			if path, ok := root.(string); ok {
				out.Sandbox.WritableRoots = append(out.Sandbox.WritableRoots, path)
			}
		}
	}
	return out.Within(r.Permission), nil
}

// preset returns the rights of a thread whose client requests none.
func (s *Server) preset(p settle.Permission) (codex.Rights, error) {
	out, requested := codex.DefaultRights(p), codex.RequestedRights{Sandbox: s.sandbox}
	if s.approval != "" {
		requested.ApprovalPolicy = s.approval.JSON()
	}
	return out, out.Set(requested)
}

// ownEffort is the effort that clients see if the model chooses its own.
const ownEffort = "default"

// model returns the model as PROVIDER/NAME and the effort, in settle's words; "" means the
// configured value.
func (s *Server) model(dir, name, provider, effort string) (string, string, error) {
	switch effort {
	case ownEffort:
		effort = ""
	case "ultra": // of Codex's own models alone
		effort = "max"
	}
	if name == "" {
		return "", effort, nil
	}
	r, err := s.Sessions.Settings(dir, nil)
	if err != nil {
		return "", "", err
	}
	first, _, named := strings.Cut(name, "/")
	if _, known := r.Providers[first]; known && named {
		return name, effort, nil
	}
	if _, known := r.Providers[provider]; !known {
		provider = "openai"
		if c, err := r.Choose(); err == nil {
			provider = c.Provider.Name
		}
		if provider == "openai" && strings.HasPrefix(name, "claude-") && r.BaseURL == "" {
			provider = "anthropic"
		}
	}
	return provider + "/" + name, effort, nil
}

// change has the thread's next turns ask another model, and its calls judged by
// other rights.
func (l *loadedThread) change(ctx context.Context, requested codex.RequestedRights, name, effort string) error {
	l.mu.Lock()
	rights := l.rights
	l.mu.Unlock()
	if err := rights.Set(requested); err != nil {
		return err
	}
	user, err := l.s.Sessions.Ceiling(l.opened.Spec.Dir)
	if err != nil {
		return err
	}
	rights = rights.Within(user)
	mode := rights.Mode(l.s.Sessions.Base.Getenv("TMPDIR"))
	notes, err := l.opened.Agent.CheckExtent(mode)
	if err != nil {
		return err
	}
	now := l.opened.Model()
	name, effort, err = l.s.model(
		l.opened.Spec.Dir, cmp.Or(name, now.FullName()), now.ProviderName, cmp.Or(effort, now.Effort),
	)
	if err != nil {
		return err
	}
	if name != now.FullName() || effort != now.Effort {
		if err := l.s.Sessions.Choose(ctx, l.opened, map[string]string{"model": name, "effort": effort}); err != nil {
			return err
		}
	}
	if l.policy.Mode().Name == mode.Name {
		notes = nil // the client has them
	}
	l.policy.Set(mode)
	l.mu.Lock()
	l.rights = rights
	l.mu.Unlock()
	for _, n := range notes {
		l.s.Tell(errors.New(n))
	}
	return nil
}

// unload closes the thread. It is called in the thread's lane.
func (s *Server) unload(l *loadedThread) {
	defer s.threads.Remove(l.id())
	if err := s.CloseSession(l.id(), event.Shutdown, l.done); s.Life.Err() == nil {
		s.Tell(err)
	}
}

// snapshot returns the thread as clients see it, with its turns if they want them.
func (l *loadedThread) snapshot(withTurns bool) object {
	var t object
	l.opened.View(func(state event.State) { t = l.s.read(state, withTurns) })
	return l.loaded(t)
}

// loaded adds the live state of a loaded thread to a thread of the log.
func (l *loadedThread) loaded(t object) object {
	now := l.opened.Model()
	l.mu.Lock()
	defer l.mu.Unlock()
	t["status"], t["ephemeral"] = l.status.object(), l.ephemeral
	t["model"], t["modelProvider"], t["reasoningEffort"] = now.FullName(), now.ProviderName, ptr(now.Effort)
	if l.ephemeral {
		t["path"] = nil
	}
	return t
}

// read returns a thread as its log has it, with its turns if they are wanted.
func (s *Server) read(state event.State, withTurns bool) object {
	t := s.listedThread(catalogue.EntryOf(state))
	t["cliVersion"], t["reasoningEffort"] = state.Host.Settle, ptr(lastEffort(state))
	if withTurns {
		t["turns"] = turns(state)
	}
	return t
}

// lastEffort returns the effort of a session's last turn.
func lastEffort(state event.State) string {
	if n := len(state.Turns); n > 0 {
		return state.Turns[n-1].Start.Effort
	}
	return ""
}

// listedThread returns a thread as the catalogue has it.
func (s *Server) listedThread(e catalogue.Entry) object {
	provider, _, _ := strings.Cut(e.Model, "/")
	out := object{
		"id":          e.Session,
		"sessionId":   e.Session,
		"preview":     e.Title,
		"name":        ptr(store.Name(s.disk.Dir, e.Session)),
		"ephemeral":   false,
		"historyMode": "legacy",
		"model": ptr(
			e.Model,
		),
		"modelProvider": cmp.Or(provider, "unknown"),
		"status":        threadStatus{kind: "notLoaded"}.object(),
		"createdAt":     e.Created.Unix(),
		"updatedAt":     e.Updated.Unix(),
		"recencyAt":     seconds(e.Updated),
		"path": s.disk.path(
			e.Session,
		),
		"cwd":        e.Dir,
		"cliVersion": s.Version,
		"source":     "appServer",
		"turns":      []object{},
	}
	setNull(
		out, "reasoningEffort", "forkedFromId", "parentThreadId", "projectId", "originator", "threadSource",
		"agentNickname", "agentRole", "gitInfo",
	)
	return out
}
