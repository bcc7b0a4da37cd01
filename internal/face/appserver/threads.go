package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// threadResult answers thread/start and thread/resume.
type threadResult struct {
	Thread             thread          `json:"thread"`
	Model              string          `json:"model"`
	ModelProvider      string          `json:"modelProvider"`
	ServiceTier        *string         `json:"serviceTier"`
	DisabledPluginIDs  []string        `json:"disabledPluginIds"`
	Cwd                string          `json:"cwd"`
	InstructionSources []string        `json:"instructionSources"`
	ApprovalPolicy     json.RawMessage `json:"approvalPolicy"`
	ApprovalsReviewer  string          `json:"approvalsReviewer"`
	Sandbox            map[string]any  `json:"sandbox"`
	ReasoningEffort    *string         `json:"reasoningEffort"`
}

func (l *loadedThread) result(t thread) threadResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return threadResult{
		Thread: t, Model: l.model, ModelProvider: l.provider, DisabledPluginIDs: []string{}, Cwd: l.opened.Spec.Dir,
		InstructionSources: []string{}, ApprovalPolicy: l.rights.approval, ApprovalsReviewer: "user",
		Sandbox: l.rights.sandbox.object(), ReasoningEffort: ptr(l.effort),
	}
}

func (s *Server) threadStart(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p startThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	dir, err := directory(toolview.Absolute(s.Dir, p.Cwd))
	if err != nil {
		return nil, err
	}
	l, err := s.open(ctx, opening{setup: p.setup, id: settle.NewSessionID(), dir: dir, ephemeral: p.Ephemeral})
	if err != nil {
		return nil, err
	}
	l.introduce(ctx, r)
	s.refuseServers(ctx, l, p.Config)
	return nil, nil //nolint:nilnil // it is answered
}

// introduce answers a client that starts the thread, before anything else is told
// of it: what the client asks next goes another way.
func (l *loadedThread) introduce(ctx context.Context, r *jsonrpc.Request) {
	l.order.Lock()
	defer l.order.Unlock()
	t := l.snapshot(false)
	r.Reply(l.result(t))
	l.s.notify(ctx, note{"thread/started", threadNote{t}})
}

func (s *Server) threadResume(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p resumeThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if store.IsArchived(s.disk.Dir, p.ThreadID) {
		return nil, invalid("session %s is archived; thread/unarchive brings it back", p.ThreadID)
	}
	l, err := s.resumed(ctx, p)
	if err != nil {
		return nil, err
	}
	// Beside the lane: it waits for a client that reads slowly.
	s.work.Go(func() { // shutDown waits for it; it ends with what is being told
		l.welcome(r, !p.ExcludeTurns)
		s.refuseServers(ctx, l, p.Config)
	})
	return nil, nil //nolint:nilnil // as above
}

// welcome answers a client that resumes the thread with what it would know if it
// had been told everything: what was not told yet, it will be.
func (l *loadedThread) welcome(r *jsonrpc.Request, withTurns bool) {
	l.order.Lock()
	defer l.order.Unlock()
	r.Reply(l.result(l.loaded(l.s.read(l.translator.state(), withTurns))))
}

// resumed returns the thread that is to go on; one that is loaded goes on as it
// is, but for what the client asks.
func (s *Server) resumed(ctx context.Context, p resumeThread) (*loadedThread, error) {
	if l := s.live(p.ThreadID); l != nil {
		change := startTurn{ApprovalPolicy: p.ApprovalPolicy, Permissions: p.Permissions, Model: p.Model}
		if p.Sandbox != "" {
			var r rights
			if err := r.set(nil, p.Sandbox, nil, ""); err != nil {
				return nil, err
			}
			change.SandboxPolicy = &r.sandbox
		}
		if err := l.change(ctx, change); err != nil {
			return nil, err
		}
		l.subscribe(true)
		return l, nil
	}
	state, err := s.disk.load(p.ThreadID)
	if err != nil {
		return nil, err
	}
	o := opening{setup: p.setup, id: p.ThreadID}
	if o.dir, err = directory(toolview.Absolute(cmp.Or(state.Host.Dir, s.Dir), p.Cwd)); err != nil {
		return nil, err
	}
	if t := s.storedThread(state); t.Model != nil && p.Model == "" {
		o.model = *t.Model
		if t.ReasoningEffort != nil {
			o.effort = *t.ReasoningEffort
		}
	}
	l, err := s.open(ctx, o)
	if err != nil && o.model != "" { // that one may not be configured any more
		o.model, o.effort = "", ""
		if other, again := s.open(ctx, o); again == nil {
			s.notify(ctx, note{"warning", warningNote{&p.ThreadID, fmt.Sprintf("The thread goes on with the model %s: %v", other.model, err)}})
			return other, nil
		}
	}
	return l, err
}

// refuseServers tells that MCP servers which a client configures are not used.
func (s *Server) refuseServers(ctx context.Context, l *loadedThread, config map[string]any) {
	servers, _ := config["mcp_servers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s.notify(ctx, note{"mcpServer/startupStatus/updated", map[string]any{
			"threadId": l.id(), "name": name, "status": "failed", "failureReason": nil, "error": "settle does not use MCP servers yet; this one was not started",
		}})
	}
}

func (s *Server) threadRead(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p readThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	type answer struct {
		Thread thread `json:"thread"`
	}
	if l := s.live(p.ThreadID); l != nil {
		return answer{l.snapshot(p.IncludeTurns)}, nil
	}
	state, err := s.disk.load(p.ThreadID)
	if err != nil {
		return nil, err
	}
	t := s.read(state, p.IncludeTurns)
	t.ID, t.SessionID = p.ThreadID, p.ThreadID // also where the log is empty
	return answer{t}, nil
}

func (s *Server) threadLoaded(context.Context, *jsonrpc.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := slices.Sorted(maps.Keys(s.threads))
	if data == nil {
		data = []string{}
	}
	return map[string]any{"data": data, "nextCursor": nil}, nil
}

// threadUnsubscribe lets a turn that runs run on, unheard, and closes the
// thread when none does. Nothing is said of the turn after the answer.
func (s *Server) threadUnsubscribe(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p readThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	l := s.live(p.ThreadID)
	if l == nil {
		return map[string]string{"status": "notLoaded"}, nil
	}
	if !l.subscribe(false) {
		return map[string]string{"status": "notSubscribed"}, nil
	}
	if l.running() == nil {
		s.unload(l, s.client())
		return map[string]string{"status": "unsubscribed"}, nil
	}
	l.asker.Deny(noSubscriber())
	s.work.Go(func() { l.farewell(r) }) // as for a resume
	return nil, nil                     //nolint:nilnil // as above
}

// farewell answers a client that unsubscribes, after what is being told.
func (l *loadedThread) farewell(r *jsonrpc.Request) {
	l.order.Lock()
	defer l.order.Unlock()
	r.Reply(map[string]string{"status": "unsubscribed"})
}

func (s *Server) threadArchive(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p readThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if l := s.live(p.ThreadID); l != nil {
		s.unload(l, s.client())
		if l.ephemeral {
			return nothing{}, nil
		}
	}
	if _, err := s.disk.load(p.ThreadID); err != nil {
		return nil, err
	}
	if err := store.Archive(s.disk.Dir, p.ThreadID); err != nil {
		return nil, err
	}
	r.Reply(nothing{})
	s.notify(ctx, note{"thread/archived", threadIDNote{p.ThreadID}})
	return nil, nil //nolint:nilnil // it is answered
}

func (s *Server) threadUnarchive(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p readThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if !store.IsArchived(s.disk.Dir, p.ThreadID) {
		return nil, invalid("no archived rollout found for thread id %s", p.ThreadID)
	}
	state, err := s.disk.load(p.ThreadID)
	if err != nil {
		return nil, err
	}
	if err := store.Unarchive(s.disk.Dir, p.ThreadID); err != nil {
		return nil, err
	}
	r.Reply(map[string]any{"thread": s.storedThread(state)})
	s.notify(ctx, note{"thread/unarchived", threadIDNote{p.ThreadID}})
	return nil, nil //nolint:nilnil // it is answered
}

// mostListed is how many threads are listed at once where nothing is said.
const mostListed = 25

func (s *Server) threadList(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p listThreads
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	dirs, err := paths(p.Cwd)
	if err != nil {
		return nil, err
	}
	all, err := s.disk.List(ctx, catalogue.Query{})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e catalogue.Entry) bool {
		return e.Title == "" || store.IsArchived(s.disk.Dir, e.Session) != p.Archived || slices.Contains(p.ExcludedThreadIDs, e.Session) ||
			len(dirs) > 0 && !slices.Contains(dirs, e.Dir) || !strings.Contains(strings.ToLower(e.Title), strings.ToLower(p.SearchTerm))
	})
	slices.SortStableFunc(all, func(a, b catalogue.Entry) int {
		n := a.Created.Compare(b.Created)
		if p.SortKey == "updated_at" || p.SortKey == "recency_at" {
			n = a.Updated.Compare(b.Updated)
		}
		if p.SortDirection != "asc" {
			return -n
		}
		return n
	})
	from := 0
	if p.Cursor != "" {
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 {
			return nil, invalid("the cursor %q is not one of these", p.Cursor)
		}
	}
	from = min(from, len(all))
	to := min(from+cmp.Or(max(p.Limit, 0), mostListed), len(all))
	answer := struct {
		Data            []thread `json:"data"`
		NextCursor      *string  `json:"nextCursor"`
		BackwardsCursor *string  `json:"backwardsCursor"`
	}{Data: []thread{}}
	for _, e := range all[from:to] {
		answer.Data = append(answer.Data, s.listedThread(e))
	}
	if to < len(all) {
		answer.NextCursor = ptr(strconv.Itoa(to))
	}
	return answer, nil
}

// listedThread returns a thread as the catalogue has it.
func (s *Server) listedThread(e catalogue.Entry) thread {
	if l := s.live(e.Session); l != nil {
		return l.snapshot(false)
	}
	provider, _, _ := strings.Cut(e.Model, "/")
	return thread{
		ID: e.Session, SessionID: e.Session, Preview: e.Title, HistoryMode: "legacy", ModelProvider: cmp.Or(provider, "unknown"), Model: ptr(e.Model),
		CreatedAt: e.Created.Unix(), UpdatedAt: e.Updated.Unix(), RecencyAt: seconds(e.Updated), Status: threadStatus{Type: "notLoaded"},
		Path: ptr(s.disk.path(e.Session)), Cwd: e.Dir, CLIVersion: s.Version, Source: "appServer", Name: ptr(store.Name(s.disk.Dir, e.Session)), Turns: []turn{},
	}
}

// paths reads a parameter that is a path or several.
func paths(raw json.RawMessage) ([]string, error) {
	if !isGiven(raw) {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var several []string
	if err := json.Unmarshal(raw, &several); err != nil {
		return nil, invalid("cwd is neither a path nor several: %v", err)
	}
	return several, nil
}

// threadName gives a thread a name, which codex-acp has a model make up.
func (s *Server) threadName(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		ThreadID string `json:"threadId"`
		Name     string `json:"name"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if l := s.live(p.ThreadID); l == nil || l.ephemeral {
		if _, err := s.disk.load(p.ThreadID); err != nil {
			return nil, err
		}
	}
	p.Name = strings.Join(strings.Fields(p.Name), " ")
	if p.Name == "" || len(p.Name) > store.MostName {
		return nil, invalid("thread name must not be empty, nor have more than %d bytes", store.MostName)
	}
	if err := store.Rename(s.disk.Dir, p.ThreadID, p.Name); err != nil {
		return nil, err
	}
	r.Reply(nothing{})
	s.notify(ctx, note{"thread/name/updated", map[string]string{"threadId": p.ThreadID, "threadName": p.Name}})
	return nil, nil //nolint:nilnil // it is answered
}

// goalGet answers that the thread has no goal: settle has none.
func (s *Server) goalGet(context.Context, *jsonrpc.Request) (any, error) {
	return map[string]any{"goal": nil}, nil
}

// jobList lists the processes that run on, as Codex lists its terminals.
func (s *Server) jobList(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p readThread
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	l, err := s.loaded(p.ThreadID)
	if err != nil {
		return nil, err
	}
	type terminal struct {
		ItemID    string `json:"itemId"`
		ProcessID string `json:"processId"`
		Command   string `json:"command"`
		Cwd       string `json:"cwd"`
		OSPid     *int   `json:"osPid"`
	}
	data := []terminal{}
	for _, j := range l.jobs() {
		data = append(data, terminal{j.Call, j.JobStarted.Job, j.Command, l.opened.Spec.Dir, ptr(j.PID)})
	}
	return map[string]any{"data": data, "nextCursor": nil}, nil
}

func (s *Server) jobTerminate(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p terminateJob
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	l, err := s.loaded(p.ThreadID)
	if err != nil {
		return nil, err
	}
	running := slices.ContainsFunc(l.jobs(), func(j *event.Job) bool { return j.JobStarted.Job == p.ProcessID })
	if running {
		if err := l.opened.KillJob(ctx, p.ProcessID); err != nil {
			return nil, fmt.Errorf("cannot end %q: %w", p.ProcessID, err)
		}
	}
	return map[string]bool{"terminated": running}, nil
}
