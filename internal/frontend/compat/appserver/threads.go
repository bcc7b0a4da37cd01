package appserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
)

// result answers thread/start and thread/resume.
func (l *loadedThread) result(t object) object {
	now := l.opened.Model()
	l.mu.Lock()
	defer l.mu.Unlock()
	return object{
		"thread":             t,
		"model":              now.FullName(),
		"modelProvider":      now.ProviderName,
		"reasoningEffort":    ptr(now.Effort),
		"serviceTier":        nil,
		"cwd":                l.opened.Spec.Dir,
		"approvalPolicy":     l.rights.Approval,
		"approvalsReviewer":  "user",
		"sandbox":            l.rights.Sandbox.WithNetwork(l.opened.Agent.Confines(l.rights.Mode(""))),
		"disabledPluginIds":  []string{},
		"instructionSources": []string{},
	}
}

func (s *Server) threadStart(ctx context.Context, r *jsonrpc.Request, p setup) error {
	dir, err := assemble.WorkDir(toolview.Absolute(s.Dir, p.Cwd))
	if err != nil {
		return err
	}
	l, err := s.open(ctx, settle.NewSessionID(), dir, p)
	if err != nil {
		return err
	}
	l.introduce(r)
	s.Go(l.tellServers) // ends when the thread is closed
	return nil
}

// introduce answers a client that starts the thread, before the first notification about
// it.
func (l *loadedThread) introduce(r *jsonrpc.Request) {
	l.order.Lock()
	defer l.order.Unlock()
	t := l.snapshot(false)
	r.Reply(l.result(t))
	l.s.notify(note{"thread/started", object{"thread": t}})
}

func (s *Server) threadResume(ctx context.Context, r *jsonrpc.Request, p setup) error {
	if store.IsArchived(s.disk.Dir, p.ThreadID) {
		return invalid("session %s is archived; thread/unarchive brings it back", p.ThreadID)
	}
	loaded := s.threads.Get(p.ThreadID) != nil
	l, err := s.resumed(ctx, p)
	if err != nil {
		return err
	}
	s.Go(func() { // beside the lane: it waits for a client that reads slowly
		l.attachClient(r, !p.ExcludeTurns)
		if !loaded {
			l.tellServers() // until the thread is closed
		}
	})
	return nil
}

// attachClient answers a client that resumes the thread with the thread's state up to the
// last notification. Later events follow as notifications.
func (l *loadedThread) attachClient(r *jsonrpc.Request, withTurns bool) {
	l.order.Lock()
	defer l.order.Unlock()
	r.Reply(l.result(l.loaded(l.s.read(l.translator.state(), withTurns))))
}

// resumed returns the thread to continue. A loaded thread continues unchanged, except for
// the client's settings.
func (s *Server) resumed(ctx context.Context, p setup) (*loadedThread, error) {
	if l := s.threads.Get(p.ThreadID); l != nil {
		if err := l.change(ctx, p.RequestedRights, p.Model, ""); err != nil {
			return nil, err
		}
		l.subscribed.Store(true)
		return l, nil
	}
	state, err := s.disk.load(p.ThreadID)
	if err != nil {
		return nil, err
	}
	dir, err := assemble.WorkDir(toolview.Absolute(cmp.Or(state.Host.Dir, s.Dir), p.Cwd))
	if err != nil {
		return nil, err
	}
	p.Ephemeral = false // it is kept
	if p.Model == "" {
		p.lastModel, p.lastEffort = catalogue.EntryOf(state).Model, lastEffort(state)
	}
	l, err := s.open(ctx, p.ThreadID, dir, p)
	if err != nil && p.lastModel != "" { // that one may not be configured any more
		p.lastModel, p.lastEffort = "", ""
		if reopened, openErr := s.open(ctx, p.ThreadID, dir, p); openErr == nil {
			s.notify(note{
				"warning",
				object{
					"threadId": p.ThreadID,
					"message": fmt.Sprintf(
						"The thread continues with the model %s: %v", reopened.opened.Model().FullName(), err,
					),
				},
			})
			return reopened, nil
		}
	}
	return l, err
}

func (s *Server) threadRead(_ context.Context, p about) (any, error) {
	if l := s.threads.Get(p.ThreadID); l != nil {
		return object{"thread": l.snapshot(p.IncludeTurns)}, nil
	}
	state, err := s.disk.load(p.ThreadID)
	if err != nil {
		return nil, err
	}
	t := s.read(state, p.IncludeTurns)
	t["id"], t["sessionId"] = p.ThreadID, p.ThreadID // also where the log is empty
	return object{"thread": t}, nil
}

func (s *Server) threadLoaded(context.Context, struct{}) (any, error) {
	return object{"data": append([]string{}, s.threads.IDs()...), "nextCursor": nil}, nil
}

// threadUnsubscribe lets a running turn continue without notifications, and closes the
// thread when no turn runs. There is no notification after the answer.
func (s *Server) threadUnsubscribe(_ context.Context, r *jsonrpc.Request, p about) error {
	l := s.threads.Get(p.ThreadID)
	switch {
	case l == nil:
		r.Reply(object{"status": "notLoaded"})
	case !l.subscribed.Swap(false):
		r.Reply(object{"status": "notSubscribed"})
	case l.running() == nil:
		s.unload(l)
		r.Reply(object{"status": "unsubscribed"})
	default:
		l.asker.Deny(noSubscriber())
		s.Go(func() { l.farewell(r) }) // as for a resume
	}
	return nil
}

// farewell answers a client that unsubscribes, after the present notification.
func (l *loadedThread) farewell(r *jsonrpc.Request) {
	l.order.Lock()
	defer l.order.Unlock()
	r.Reply(object{"status": "unsubscribed"})
}

func (s *Server) threadArchive(_ context.Context, r *jsonrpc.Request, p about) error {
	if l := s.threads.Get(p.ThreadID); l != nil {
		s.unload(l)
		if l.ephemeral {
			r.Reply(object{})
			return nil
		}
	}
	if _, err := s.disk.load(p.ThreadID); err != nil {
		return err
	}
	if err := store.Archive(s.disk.Dir, p.ThreadID); err != nil {
		return err
	}
	r.Reply(object{})
	s.notify(note{"thread/archived", object{"threadId": p.ThreadID}})
	return nil
}

func (s *Server) threadUnarchive(_ context.Context, r *jsonrpc.Request, p about) error {
	if !store.IsArchived(s.disk.Dir, p.ThreadID) {
		return invalid("no archived rollout found for thread id %s", p.ThreadID)
	}
	state, err := s.disk.load(p.ThreadID)
	if err != nil {
		return err
	}
	if err := store.Unarchive(s.disk.Dir, p.ThreadID); err != nil {
		return err
	}
	r.Reply(object{"thread": s.read(state, false)})
	s.notify(note{"thread/unarchived", object{"threadId": p.ThreadID}})
	return nil
}

// maxListed is the default number of threads in a list.
const maxListed = 25

func (s *Server) threadList(ctx context.Context, p listThreads) (any, error) {
	all, err := s.disk.List(ctx, catalogue.Query{})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e catalogue.Entry) bool {
		return e.Title == "" || store.IsArchived(s.disk.Dir, e.Session) != p.Archived ||
			slices.Contains(p.ExcludedThreadIDs, e.Session) ||
			len(p.Cwd) > 0 && !slices.Contains(p.Cwd, e.Dir) ||
			!strings.Contains(strings.ToLower(e.Title), strings.ToLower(p.SearchTerm))
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
	to := min(from+cmp.Or(max(p.Limit, 0), maxListed), len(all))
	data := []object{}
	for _, e := range all[from:to] {
		if l := s.threads.Get(e.Session); l != nil {
			data = append(data, l.snapshot(false))
		} else {
			data = append(data, s.listedThread(e))
		}
	}
	answer := object{"data": data, "nextCursor": nil, "backwardsCursor": nil}
	if to < len(all) {
		answer["nextCursor"] = strconv.Itoa(to)
	}
	return answer, nil
}

// threadName gives a thread a name, which codex-acp has a model make up.
func (s *Server) threadName(_ context.Context, r *jsonrpc.Request, p about) error {
	if l := s.threads.Get(p.ThreadID); l == nil || l.ephemeral {
		if _, err := s.disk.load(p.ThreadID); err != nil {
			return err
		}
	}
	name := strings.Join(strings.Fields(p.Name), " ")
	if name == "" || len(name) > store.MaxName {
		return invalid("thread name must not be empty, nor have more than %d bytes", store.MaxName)
	}
	if err := store.Rename(s.disk.Dir, p.ThreadID, name); err != nil {
		return err
	}
	r.Reply(object{})
	s.notify(note{"thread/name/updated", object{"threadId": p.ThreadID, "threadName": name}})
	return nil
}

// listJobs lists the processes that run on, as Codex lists its terminals.
func (l *loadedThread) listJobs(_ context.Context, r *jsonrpc.Request, _ about) error {
	data := []object{}
	for _, j := range l.jobs() {
		data = append(
			data,
			object{
				"itemId":    j.Call,
				"processId": j.JobStarted.Job,
				"command":   j.Command,
				"cwd":       l.opened.Spec.Dir,
				"osPid":     ptr(j.PID),
			},
		)
	}
	r.Reply(object{"data": data, "nextCursor": nil})
	return nil
}

// compact responds at once: the notes of the turn report the result.
func (l *loadedThread) compact(ctx context.Context, r *jsonrpc.Request, _ about) error {
	r.Reply(object{})
	go scope.Shield(l.s.Panicked, func() { // ends with the compaction, and that with its session
		_, _ = l.opened.Compact(context.WithoutCancel(ctx), "app-server")
	})()
	return nil
}

func (l *loadedThread) terminateJob(ctx context.Context, r *jsonrpc.Request, p about) error {
	running := slices.ContainsFunc(l.jobs(), func(j *event.Job) bool { return j.JobStarted.Job == p.ProcessID })
	if running {
		if err := l.opened.KillJob(ctx, p.ProcessID); err != nil {
			return fmt.Errorf("cannot end %q: %w", p.ProcessID, err)
		}
	}
	r.Reply(object{"terminated": running})
	return nil
}
