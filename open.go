package settle

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"weak"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/task"
)

// completed returns the configuration with defaults.
func (c SessionConfig) completed(logger *slog.Logger) (SessionConfig, error) {
	if c.Model.Provider == nil || c.Model.Name == "" {
		return c, errors.New("cannot open a session without a model: Model.Provider and Model.Name must be set")
	}
	switch c.Permission {
	case "":
		c.Permission = Ask
	case Allow, Review, Ask, Deny:
	default:
		return c, fmt.Errorf(
			"cannot open a session with permission %q: allow, review, ask and deny are known", c.Permission)
	}
	dir, err := filepath.Abs(c.WorkDir)
	if err != nil {
		return c, fmt.Errorf("cannot find the working directory: %w", err)
	}
	if err := disk.CheckWorkDirName(dir); err != nil {
		return c, err
	}
	c.WorkDir, c.Tasks = dir, c.Tasks.completed()
	if c.Logger == nil {
		c.Logger = logger
	}
	return c, nil
}

// open opens a session that is not open.
func (h *Host) open(ctx context.Context, id string, c SessionConfig, from *origin) (*Session, error) {
	c, err := c.completed(h.config.Logger)
	if err != nil {
		return nil, err
	}
	c.Model = h.limited(id, c.Model)
	log, damage, err := h.log(ctx, id, c)
	if err != nil {
		return nil, err
	}
	s := &Session{
		host: h, id: id, value: c.Value, origin: from, awaitsChildren: c.Tasks != nil && c.Tasks.AtEnd == AwaitTasks,
	}
	if secrets := slices.Concat(h.config.Secrets, c.Secrets, c.Model.Secrets); from != nil {
		s.redact = from.parent.redact // C15: parent and child share all secrets
		s.redact.Add(secrets...)
	} else {
		s.redact = h.redactor(secrets)
	}
	s.model.Store(&c.Model)
	if err := s.start(c, log, damage); err != nil {
		return nil, errors.Join(err, s.toolbox.close(ctx), log.Close(ctx))
	}
	return s, nil
}

// redactor returns the redactor of a session. Sessions that begin with the same secrets share
// one, which takes some kilobytes. A secret that one of them learns, such as a renewed key, is
// then a secret of all of them (C15).
func (h *Host) redactor(secrets []string) *redact.Redactor {
	slices.Sort(secrets)
	key := sha256.Sum256([]byte(strings.Join(slices.Compact(secrets), "\x00")))
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.redactors[key].Value(); r != nil {
		return r
	}
	maps.DeleteFunc(
		h.redactors, func(_ [sha256.Size]byte, p weak.Pointer[redact.Redactor]) bool { return p.Value() == nil },
	)
	r := redact.New(secrets...)
	h.redactors[key] = weak.Make(r)
	return r
}

func (h *Host) log(ctx context.Context, id string, c SessionConfig) (*journal.Log, session.Damage, error) {
	if h.config.Logs != nil && !c.Ephemeral {
		return h.openLog(ctx, id, c)
	}
	if h.config.DataDir == "" || c.Ephemeral {
		if c.MustExist {
			return nil, session.Damage{}, typedError(id, &journal.MissingError{Session: id, Dir: h.config.DataDir})
		}
		return journal.NewMemory(id), session.Damage{}, nil
	}
	var log *journal.Log
	var opened journal.Opened
	err := retryWhileLocked(ctx, c.LockTimeout, func() (err error) {
		log, opened, err = journal.Open(ctx, journal.Options{
			Dir: h.config.DataDir, Session: id, Take: c.Take, MustExist: c.MustExist,
		})
		return err
	})
	if err == nil {
		h.openControlSocket()
	}
	if err != nil {
		err = typedError(id, err)
	}
	damage := session.Damage{Message: opened.Damage}
	if opened.Kept != "" { // otherwise it was zeros, which no host wrote
		damage.CutBytes, damage.Kept = opened.CutBytes, opened.Kept
	}
	return log, damage, err
}

// lockDelay is the delay between attempts to open a session that another process has open.
const lockDelay = 50 * time.Millisecond

// retryWhileLocked opens a session, and retries while another process has it open: a program
// may restart before its earlier process has ended. It does not wait for a stopped process.
func retryWhileLocked(ctx context.Context, timeout time.Duration, open func() error) error {
	for began := time.Now(); ; {
		err := open()
		var held *journal.HeldError
		if !errors.As(err, &held) || held.Stopped || timeout <= 0 || time.Since(began) > timeout {
			return err
		}
		if err := scope.Sleep(ctx, lockDelay); err != nil {
			return err
		}
	}
}

// start makes the session's tools and starts its actor.
func (s *Session) start(c SessionConfig, log *journal.Log, damage session.Damage) error {
	host := s.host.config
	hooks := s.hooks(c, log)
	approver, approvals, err := s.approverOf(c, log, hooks)
	if err != nil {
		return err
	}
	logger := c.Logger.With("session", s.id)
	s.logger = logger
	s.agents = s.spawner(c, log)
	tools, err := s.tools(c, log)
	if err != nil {
		return err
	}
	made := session.Config{
		Log: log, Approvals: approvals, Damage: damage, Sweep: s.toolbox.Sweep, Interrupted: s.toolbox.Interrupted,
		Logger: logger, BeforeClose: s.toolbox.close,
		Opened: s.opened(c),
		Turn: turn.Config{
			Requests: turn.Requests{
				Model: c.Model, System: c.System, Prompts: c.Prompts, Instructions: c.Instructions,
				Compaction: c.Compaction.ofTurn(), Reminder: s.toolbox.Reminder,
			},
			Execution:     turn.Execution{Tools: tools, Dir: c.WorkDir, Approver: approver, Command: commandOf(tools)},
			Bounds:        turn.Bounds{Retry: c.Retry, Limits: c.Limits, InterruptGrace: c.InterruptGrace},
			AwaitChildren: s.awaitsChildren, Redact: s.redact, Logger: logger, Observer: host.Observer, Hooks: hooks,
		},
	}
	if c.Worktree != nil {
		made.LeaveWorktree, made.KeepWorktree = c.Worktree.Leave, c.Worktree.Keep
	}
	if s.origin != nil {
		made.Turn.Meter = s.origin.Meter
	}
	if approvals != nil {
		made.Turn.Filler = approvals
	}
	if s.agents != nil { // a nil *Spawner would make an interface that is not nil
		made.ChildAgents = s.agents
	}
	orphans := s.orphans(c)
	if orphans.DataDir != "" && !c.Ephemeral {
		made.Orphan = orphans.End
	}
	if s.actor, err = session.Open(made); err == nil {
		orphans.LeaveWorktrees(log)
	}
	return err
}

// opened returns the data of the session's session.opened event.
func (s *Session) opened(c SessionConfig) event.SessionOpened {
	host := s.host.config
	opened := event.SessionOpened{
		Settle: host.Version, Dir: c.WorkDir, Frontend: host.Frontend, Permission: c.Permission, Notes: c.notes(),
		Confinement: c.Confinement,
	}
	if c.Worktree != nil {
		opened.Worktree = &c.Worktree.Worktree
	}
	if s.origin != nil {
		opened.Parent, opened.ParentTurn = s.origin.parent.id, s.origin.Start.Turn
		opened.ParentCall = s.origin.Order.Call
		opened.Child, opened.Depth = s.origin.Start.Child, s.origin.depth
	}
	return opened
}

// tools returns the tools that the model can call.
func (s *Session) tools(c SessionConfig, log *journal.Log) (_ *tool.Set, err error) {
	if c.Toolbox != nil {
		host := s.host.config
		store := Store{Dir: host.DataDir}
		info := SessionInfo{
			ID: s.id, WorkDir: c.WorkDir, Epoch: log.Epoch(), Marker: store.Marker(s.id), Lock: log.LockFile(),
			Jobs:   session.Jobs{Log: log, Redact: s.redact},
			Masked: s.redact.Masked, Mask: func() Masker { return s.redact.Stream() }, Learn: s.redact.Add,
		}
		if host.DataDir != "" && !c.Ephemeral {
			info.OutputDir = store.OutputDir(s.id)
		}
		if s.toolbox, err = c.Toolbox(info); err != nil {
			return nil, fmt.Errorf("cannot make the tools of session %s: %w", s.id, err)
		}
	}
	list := slices.Concat(c.Tools, s.toolbox.Tools)
	if s.origin != nil { // no client of a child agent can be asked
		list = slices.DeleteFunc(list, func(t tool.Tool) bool { return asksPerson(t.Spec().Name) })
		s.toolbox.Reminder = nil
	}
	if s.agents != nil {
		list = append(list, task.Tools(s.agents, c.Tasks.Kinds...)...)
	}
	tools, err := tool.NewSet(list...)
	if err != nil || s.origin == nil || !s.origin.isRestricted() {
		return tools, err
	}
	chosen := slices.Clone(s.origin.Order.Tools)
	if chosen = slices.DeleteFunc(chosen, asksPerson); chosen != nil {
		if _, err := tools.Only(chosen...); err != nil {
			return nil, err // the call names a tool that does not exist
		}
	}
	names := s.origin.offered(tools.Names())
	if s.origin.isChosen() {
		tools, err = tools.Only(names...)
	} else {
		tools = tools.Keep(names...)
	}
	if err != nil {
		return nil, err
	}
	return tools.Refusing(s.origin.refuse), nil
}

// asksPerson reports whether the tool needs a person.
func asksPerson(tool string) bool { return tool == ask.Name || tool == plan.ProposeName }

// shellTool is the name of the tool that runs a person's commands.
const shellTool = "shell"

// commandOf returns a function that makes calls of commands; nil without the shell tool.
func commandOf(tools *tool.Set) func(string) (string, json.RawMessage) {
	if _, ok := tools.Lookup(shellTool); !ok {
		return nil
	}
	return func(text string) (string, json.RawMessage) {
		arguments, _ := json.Marshal(map[string]string{"command": text}) // never fails
		return shellTool, arguments
	}
}
