package settle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/tool"
)

// Host holds the sessions of a program.
type Host struct {
	config Config
	redact *redact.Redactor

	// life ends, by end, when the host is closed.
	life context.Context //nolint:containedctx // it is the host's own, no request's
	end  context.CancelCauseFunc

	mu       sync.Mutex // guards what follows
	slots    map[string]*slot
	releases *journal.Releases // nil until a session is open, and where there is none
}

// Open returns a Host. The caller closes it.
func Open(_ context.Context, c Config) (*Host, error) {
	if c.Provider == nil || c.Model == "" {
		return nil, errors.New("cannot open a host without a provider and a model")
	}
	switch c.Permission {
	case "":
		c.Permission = Ask
	case Allow, Ask, Deny:
	default:
		return nil, fmt.Errorf("cannot open a host with permission %q: allow, ask and deny are known", c.Permission)
	}
	dir, err := filepath.Abs(c.WorkDir)
	if err != nil {
		return nil, fmt.Errorf("cannot find the working directory: %w", err)
	}
	c.WorkDir = dir
	if c.Face == "" {
		c.Face = event.FaceLibrary
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Limiter == nil {
		c.Limiter = &Limiter{}
	}
	h := &Host{config: c, redact: redact.New(c.Secrets...), slots: map[string]*slot{}}
	h.life, h.end = context.WithCancelCause(context.Background())
	return h, nil
}

func (h *Host) open(ctx context.Context, id string) (*Session, error) {
	log, damage, err := h.log(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &Session{host: h, id: id}
	if err := h.start(s, log, damage); err != nil {
		return nil, errors.Join(err, s.box.close(ctx), log.Close(ctx))
	}
	return s, nil
}

func (h *Host) log(ctx context.Context, id string) (*journal.Log, session.Damage, error) {
	if h.config.Dir == "" {
		return journal.NewMemory(id), session.Damage{}, nil
	}
	log, opened, err := journal.Open(ctx, journal.Options{Dir: h.config.Dir, Session: id, Take: h.config.Take})
	if err == nil && h.config.Releasable {
		h.listen()
	}
	damage := session.Damage{Message: opened.Damage}
	if opened.Kept != "" { // else it was zeros, which nobody has written
		damage.CutBytes, damage.Kept = opened.CutBytes, opened.Kept
	}
	return log, damage, err
}

func (h *Host) start(s *Session, log *journal.Log, damage session.Damage) (err error) {
	c := h.config
	if c.Toolbox != nil {
		info := SessionInfo{ID: s.id, WorkDir: c.WorkDir, Lock: log.LockFile(), Jobs: session.Jobs{Log: log, Redact: h.redact}, Masked: h.redact.Masked, Mask: func() Masker { return h.redact.Stream() }}
		if s.box, err = c.Toolbox(info); err != nil {
			return fmt.Errorf("cannot make the tools of session %s: %w", s.id, err)
		}
	}
	tools, err := tool.NewSet(append(append([]tool.Tool(nil), c.Tools...), s.box.Tools...)...)
	if err != nil {
		return err
	}
	approver, approvals, err := h.approver(log)
	if err != nil {
		return err
	}
	s.actor, err = session.Open(session.Config{
		Log: log, Approvals: approvals, Damage: damage, Sweep: s.box.Sweep, Interrupted: s.box.Interrupted, Logger: c.Logger.With("session", s.id), BeforeClose: s.box.close,
		Opened: event.SessionOpened{Settle: c.Version, Dir: c.WorkDir, Face: c.Face, Permission: c.Permission, Notes: h.notes()},
		Turn: turn.Config{
			Provider: c.Provider, System: c.System, Tools: tools, Dir: c.WorkDir, Approver: approver,
			Target: c.Brain().target(s.id),
			Retry:  turn.Retry(c.Retry), Bounds: c.Bounds, Limits: turn.Limits(c.Limits), InterruptGrace: c.InterruptGrace, Limiter: c.Limiter,
			Redact: h.redact, Logger: c.Logger.With("session", s.id),
		},
	})
	return err
}

// SessionInfo is what a [Config.Toolbox] is told of the session.
type SessionInfo struct {
	ID      string
	WorkDir string
	// Lock is the file that holds the session's lock, for the processes that
	// clean up after the host; nil for a log in memory.
	Lock *os.File
	// Jobs records jobs in the session's log.
	Jobs Jobs
	// Masked reports whether a text contains the mask that stands for a
	// secret, and must not be written to a file.
	Masked func(text string) bool
	// Mask returns what masks secrets in one text that comes in pieces, such as
	// the output of a command that is kept in a file (C15).
	Mask func() Masker
}

// Jobs records in a session's log what outlives the call that started it. It is
// safe for concurrent use.
type Jobs interface {
	// JobStarted records that a call left a process behind, and returns the
	// job's id.
	JobStarted(context.Context, event.JobStarted) (id string, err error)
	// JobEnded records how a job ended. A second ending becomes nothing.
	JobEnded(context.Context, event.JobEnded) error
}

// Masker masks secrets in a text that comes in pieces. It may keep back the
// beginning of a secret, until more comes or Flush.
type Masker interface {
	Write(text string) (masked string)
	Flush() (masked string)
}

// Toolbox is the tools of one session.
type Toolbox struct {
	Tools []tool.Tool
	// Close, if set, ends what the tools left running; it is called when no
	// turn runs any more, before the session is closed.
	Close func(context.Context) error
	// Kill, if set, ends a job and returns what of it could not be ended.
	Kill func(ctx context.Context, job string) ([]event.Process, error)
	// Interrupted, if set, is called when a turn was interrupted, to end what
	// shall not outlive that; without it, jobs do.
	Interrupted func(context.Context)
	// Sweep, if set, ends what an earlier host that died left behind, and
	// returns the pids. Jobs with the marks in released were let go on purpose
	// and must go on.
	Sweep func(released []string) []int
}

func (b Toolbox) close(ctx context.Context) error {
	if b.Close == nil {
		return nil
	}
	return b.Close(ctx)
}
