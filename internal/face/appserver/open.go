package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// opening is how a thread is to be opened.
type opening struct {
	setup
	id        string
	dir       string
	ephemeral bool
	// model and effort are those of the thread's last turn, where the client
	// names none.
	model, effort string
}

// open opens a session and follows it.
func (s *Server) open(ctx context.Context, o opening) (*loadedThread, error) {
	rights, err := s.rights(o)
	if err != nil {
		return nil, err
	}
	policy := assemble.NewPolicy(rights.policy(s.Getenv("TMPDIR")))
	settings, err := s.settings(o.dir, cmp.Or(o.Model, text(o.Config, "model"), o.model), o.ModelProvider, cmp.Or(text(o.Config, "model_reasoning_effort"), o.effort))
	if err != nil {
		return nil, err
	}
	if policy.Mode().Permission == settle.Allow && o.asksForRights() {
		settings["permission"] = string(settle.Allow) // it was asked for by name, wherever that is
	}
	wish := assemble.SessionSpec{Dir: o.dir, Settings: settings, Options: func(a *assemble.Options) {
		a.Policy, a.System, a.Append = policy, o.BaseInstructions, cmp.Or(o.DeveloperInstructions, text(o.Config, "developer_instructions"))
		if o.ephemeral {
			a.Keeping = assemble.Ephemeral
		}
	}}
	opened, err := s.Sessions.Open(ctx, o.id, wish)
	if err != nil {
		return nil, refusal(o.id, err)
	}
	l := &loadedThread{
		s: s, opened: opened, policy: policy, ephemeral: o.ephemeral, done: make(chan struct{}), rights: rights, subscribed: true,
		status:     threadStatus{Type: "idle"},
		translator: newTranslator(opened.State()),
	}
	l.asker = asker.New(s.ctx, asker.Options{Session: opened, Ask: l.ask, By: s.client, Failed: func(err error) { s.warn(err.Error()) }})
	l.setModel(opened.Agent)
	s.mu.Lock()
	s.threads[o.id] = l
	s.mu.Unlock()
	cursor := l.translator.state().Seq
	s.work.Go(func() { l.follow(s.ctx, cursor) }) // ends when the session is closed; shutDown waits for it
	for _, n := range opened.Agent.Notes {
		s.warn(n)
	}
	return l, nil
}

// asksForRights reports whether the client says what the thread may do.
func (o opening) asksForRights() bool {
	return o.Sandbox != "" || o.Permissions != "" || text(o.Config, "sandbox_mode") != ""
}

// refusal is why a session cannot be opened, as an answer.
func refusal(id string, err error) error {
	var answer *jsonrpc.Error
	if err = notFound(id, err); errors.As(err, &answer) || errors.Is(err, settle.ErrClosed) {
		return err
	}
	return invalid("%v", err)
}

// rights are those that a client asks for, over those that are configured.
func (s *Server) rights(o opening) (rights, error) {
	r, err := s.Sessions.Settings(o.dir, nil)
	if err != nil {
		return rights{}, invalid("%v", err)
	}
	out, err := s.preset(cmp.Or(r.Permission, settle.Ask))
	if err != nil {
		return rights{}, err
	}
	if policy := text(o.Config, "approval_policy"); policy != "" && !isGiven(o.ApprovalPolicy) {
		o.ApprovalPolicy = quote(policy)
	}
	mode := cmp.Or(o.Sandbox, text(o.Config, "sandbox_mode"))
	if err := out.set(o.ApprovalPolicy, mode, nil, o.Permissions); err != nil {
		return rights{}, err
	}
	if given, ok := o.Config["sandbox_workspace_write"].(map[string]any); ok && out.mode() == workspace {
		roots, _ := given["writable_roots"].([]any)
		for _, root := range roots {
			if path, ok := root.(string); ok {
				out.sandbox.WritableRoots = append(out.sandbox.WritableRoots, path)
			}
		}
	}
	return out.within(r.Permission), nil
}

// preset are the rights of a thread whose client asks for none.
func (s *Server) preset(p settle.Permission) (rights, error) {
	out := defaults(p)
	var approval json.RawMessage
	if s.Approval != "" {
		approval = quote(s.Approval)
	}
	return out, out.set(approval, s.Sandbox, nil, "")
}

// text returns a text of the configuration that a client gives.
func text(config map[string]any, key string) string {
	s, _ := config[key].(string)
	return s
}

// ownEffort is what clients are told where a model thinks as much as it likes.
const ownEffort = "default"

// settings are those by which an agent asks the model with the effort; empty
// is what is configured.
func (s *Server) settings(dir, model, provider, effort string) (map[string]string, error) {
	out := map[string]string{}
	switch effort {
	case "", ownEffort:
	case "ultra": // of Codex's own models alone
		out["effort"] = "max"
	default:
		out["effort"] = effort
	}
	if model == "" {
		return out, nil
	}
	r, err := s.Sessions.Settings(dir, nil)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if _, known := r.Providers[strings.SplitN(model, "/", 2)[0]]; !known || !strings.Contains(model, "/") {
		if _, known := r.Providers[provider]; !known {
			provider = "openai"
			if c, err := r.Choose(); err == nil {
				provider = c.Provider.Name
			}
			if provider == "openai" && strings.HasPrefix(model, "claude-") && r.BaseURL == "" {
				provider = "anthropic"
			}
		}
		model = provider + "/" + model
	}
	out["model"] = model
	return out, nil
}

// setModel takes note of the model that the agent asks.
func (l *loadedThread) setModel(a *assemble.Agent) {
	l.provider = a.Session.Model.ProviderName
	l.model = l.provider + "/" + a.Session.Model.Name
	l.effort, l.window = a.Session.Model.Effort, a.Session.Model.Window
}

// change has the thread's next turns ask another model, and its calls judged by
// other rights.
func (l *loadedThread) change(ctx context.Context, p startTurn) error {
	l.mu.Lock()
	rights, model, effort := l.rights, l.model, l.effort
	l.mu.Unlock()
	if err := rights.set(p.ApprovalPolicy, "", p.SandboxPolicy, p.Permissions); err != nil {
		return err
	}
	if p.Effort == "" {
		p.Effort = cmp.Or(effort, ownEffort)
	}
	user, err := l.s.Sessions.Ceiling(l.opened.Spec.Dir)
	if err != nil {
		return invalid("%v", err)
	}
	rights = rights.within(user)
	settings, err := l.s.settings(l.opened.Spec.Dir, cmp.Or(p.Model, model), l.provider, p.Effort)
	if err != nil {
		return err
	}
	if settings["model"] != model || settings["effort"] != effort {
		if err := l.changeModel(ctx, settings); err != nil {
			return err
		}
	}
	l.policy.Set(rights.policy(l.s.Getenv("TMPDIR")))
	l.mu.Lock()
	l.rights = rights
	l.mu.Unlock()
	return nil
}

// changeModel has the next turns ask the model of the settings.
func (l *loadedThread) changeModel(ctx context.Context, settings map[string]string) error {
	wish := l.opened.Spec
	merged := maps.Clone(wish.Settings)
	delete(merged, "effort")
	maps.Copy(merged, settings)
	wish.Settings = merged
	a, err := l.s.Sessions.Agent(ctx, wish)
	if err != nil {
		return invalid("%v", err)
	}
	if err := l.opened.SetModel(ctx, a); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setModel(a)
	return nil
}

// unload closes the thread. It is called in the thread's lane. A session bounds
// its end by itself; where the server ends first, shutDown sees to it.
func (s *Server) unload(l *loadedThread, by string) {
	if err := s.Sessions.Close(s.ctx, l.id(), event.Shutdown, by); err != nil {
		s.warn(err.Error())
	}
	select {
	case <-l.done:
	case <-s.ctx.Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[l.id()] == l {
		delete(s.threads, l.id())
	}
}

// snapshot returns the thread as clients see it, with its turns if they want them.
func (l *loadedThread) snapshot(withTurns bool) thread {
	var t thread
	l.opened.View(func(state event.State) { t = l.s.read(state, withTurns) })
	return l.loaded(t)
}

// loaded adds to a thread of the log what is known of it while it is loaded.
func (l *loadedThread) loaded(t thread) thread {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Status, t.Ephemeral = l.status, l.ephemeral
	t.Model, t.ModelProvider, t.ReasoningEffort = ptr(l.model), l.provider, ptr(l.effort)
	if !l.ephemeral {
		t.Path = ptr(l.s.disk.path(l.id()))
	}
	return t
}

// read returns a thread as its log has it, with its turns if they are wanted.
func (s *Server) read(state event.State, withTurns bool) thread {
	t := s.storedThread(state)
	if withTurns {
		t.Turns = turns(state)
	}
	return t
}

// storedThread returns a thread as its log has it, without its turns.
func (s *Server) storedThread(state event.State) thread {
	t := thread{
		ID: state.Session, SessionID: state.Session, Preview: catalogue.Title(state), HistoryMode: "legacy", ModelProvider: "unknown",
		CreatedAt: state.Created.Unix(), UpdatedAt: state.Updated.Unix(), RecencyAt: seconds(state.Updated),
		Status: threadStatus{Type: "notLoaded"}, Path: ptr(s.disk.path(state.Session)), Cwd: state.Host.Dir,
		CLIVersion: state.Host.Settle, Source: "appServer", Name: ptr(store.Name(s.disk.Dir, state.Session)), Turns: []turn{},
	}
	for _, last := range slices.Backward(state.Turns) {
		t.ModelProvider = cmp.Or(last.Start.Provider, t.ModelProvider)
		t.Model, t.ReasoningEffort = ptr(strings.Trim(last.Start.Provider+"/"+last.Start.Model, "/")), ptr(last.Start.Effort)
		break
	}
	return t
}
