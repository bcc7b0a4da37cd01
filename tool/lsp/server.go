package lsp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/scope"
)

const (
	// maxFailures is the number of failures in a row after which a server is not started again in a
	// session.
	maxFailures = 3
	// maxJobs bounds the work that a slow server has before it.
	maxJobs = 16
	// maxUndelivered bounds the edits that are kept until their errors are delivered.
	maxUndelivered = 64
	// lateTimeout bounds the wait for a server that did not answer the last check in time:
	// it is still loading, and each edit would wait for the whole timeout.
	lateTimeout = time.Second
	// jobTimeout bounds one check, for which no call waits; a server that is silent for longer
	// is ended. Large projects take minutes to load.
	jobTimeout = 10 * time.Minute
)

// server is one language server of a session. Its owner goroutine does one job at a time.
type server struct {
	language Language
	config   *Config
	jobs     chan job

	// Only the owner uses these.
	conn  *connection
	holds func() bool      // reports whether conn can run on under the present rules
	texts map[string]text  // open documents, by URI
	count int              // texts sent so far; the last one's version
	disk  map[string]stamp // files of the last scan
	known map[errorKey]int // errors that need no report, by key; nil before the first check
	// undelivered are the edits whose errors the model has not received, by path: their first
	// Before and their last After. A server that starts again judges them once more.
	undelivered map[string]Edit
	failures    int
	failure     error // of the last failure
	isOffKnown  bool  // the model knows that the server is not started again
	left        error // processes that did not end; valid after the owner has ended

	mu    sync.Mutex // guards the fields below
	doing string     // current work of the owner, for a note
	since time.Time
	late  bool  // the last check had no answer in time
	panic error // a defect of settle's own
}

// text is an open document.
type text struct {
	version int
	sum     [sha256.Size]byte
	// hasEarlier reports that the server received another text before.
	hasEarlier bool
}

// job is work for the owner. It is done even if its caller has gone, unless it is a query.
type job struct {
	ctx    context.Context // its caller's
	edits  []Edit
	query  func(ctx context.Context, s *server) (string, error) // nil for a check
	answer chan answer                                          // a caller that has given up does not receive it
}

type answer struct {
	text string
	err  error
}

func newServer(l Language, c *Config) *server {
	return &server{language: l, config: c, jobs: make(chan job, maxJobs), undelivered: map[string]Edit{}}
}

// ask has the owner do a job, and waits for its answer until ctx ends.
func (s *server) ask(ctx context.Context, j job) (string, error) {
	j.ctx, j.answer = ctx, make(chan answer)
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	select {
	case a := <-j.answer:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// check returns the note about edits, and whether the server's answer is in it.
func (s *server) check(ctx context.Context, edits []Edit) (note string, delivered bool) {
	timeout := s.config.Timeout
	if s.isLate() {
		timeout = min(timeout, lateTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	note, err := s.ask(ctx, job{edits: edits})
	inTime := err == nil || ctx.Err() == nil
	s.setLate(!inTime)
	switch {
	case err == nil:
		return note, true
	case inTime:
		return s.language.Name + ": " + err.Error(), false
	}
	return fmt.Sprintf("%s: no answer within %s%s; the next edit's result has its new errors", s.language.Name,
		timeout, s.busy()), false
}

func (s *server) isLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

func (s *server) setLate(late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = late
}

// busy returns, in parentheses, the panic of the owner goroutine or its current work with the
// duration; "" if the owner is idle.
func (s *server) busy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.panic != nil:
		return " (" + s.panic.Error() + ")"
	case s.doing == "":
		return ""
	}
	return fmt.Sprintf(" (%s for %s)", s.doing, time.Since(s.since).Round(time.Second/10))
}

func (s *server) doesNow(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing, s.since = what, time.Now()
}

// broken records a defect of settle's own.
func (s *server) broken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panic = err
}

// run does jobs until the session ends, then ends the server.
func (s *server) run(life context.Context) {
	defer s.stop()
	for {
		select {
		case j := <-s.jobs:
			s.do(life, j)
		case <-life.Done():
			return
		}
	}
}

// do does one job and delivers its answer.
func (s *server) do(life context.Context, j job) {
	if j.query != nil && j.ctx.Err() != nil {
		return
	}
	defer s.doesNow("")
	ctx, cancel := context.WithTimeout(life, jobTimeout)
	defer cancel()
	var a answer
	var current map[errorKey]int
	s.keep(j.edits)
	isSilent := j.query == nil && s.isOffKnown
	if !isSilent {
		a.err = s.start(ctx, life)
	}
	if !isSilent && a.err == nil {
		switch {
		case j.query != nil:
			within, stop := context.WithCancel(ctx)
			release := context.AfterFunc(j.ctx, scope.Shield(func(error) {}, stop))
			a.text, a.err = j.query(within, s)
			release()
			stop()
		default:
			a.text, current, a.err = s.examine(ctx, j.edits)
		}
		a.err = s.judge(ctx, life, j, a.err)
	}
	select {
	case j.answer <- a:
		s.isOffKnown = s.failures >= maxFailures
		if current != nil {
			s.known = current // the model has received it
			clear(s.undelivered)
		}
	case <-j.ctx.Done():
	case <-life.Done():
	}
}

// keep keeps edits until their errors are delivered.
func (s *server) keep(edits []Edit) {
	for _, e := range edits {
		first, known := s.undelivered[e.Path]
		if known {
			e.Before = first.Before
		}
		if known || len(s.undelivered) < maxUndelivered {
			s.undelivered[e.Path] = e
		}
	}
}

// judge counts a failure of the server, and ends a server that is silent.
func (s *server) judge(ctx, life context.Context, j job, err error) error {
	why := s.conn.failure()
	switch {
	case err == nil && why == nil:
		s.failures = 0
		return nil
	case life.Err() != nil:
		return errClosed
	case why != nil:
	case ctx.Err() != nil && j.ctx.Err() == nil || j.query == nil && errors.Is(err, context.DeadlineExceeded):
		why = fmt.Errorf("it did not answer within %s", jobTimeout)
	default:
		return err
	}
	s.failed(why)
	s.stop()
	if err == nil {
		return nil // the answer arrived before the end
	}
	return s.failedNote()
}

func (s *server) failed(why error) {
	s.failures++
	s.failure = why
	s.config.Logger.Warn("a language server failed", slog.String("server", s.language.Name), slog.Any("error", why))
}

// failedNote returns the failure, and whether the server starts again.
func (s *server) failedNote() error {
	reason := strings.TrimSpace(s.failure.Error())
	if s.failures >= maxFailures {
		return fmt.Errorf("%s; it failed %d times and is not started again in this session", reason, s.failures)
	}
	return fmt.Errorf("%s; it starts again when it is needed", reason)
}

// start starts the server unless it runs. A server that the rules in force would not start
// as it runs is ended first: the user can tighten the mode at any time.
func (s *server) start(ctx, life context.Context) error {
	if s.conn != nil && s.conn.isOver() {
		why := s.conn.failure()
		s.stop()
		if why != nil {
			s.failed(why)
		}
	}
	if s.conn != nil && s.holds() {
		return nil
	}
	s.stop()
	launch, err := s.config.rules()
	if err != nil {
		return err
	}
	if s.failures >= maxFailures {
		return s.failedNote()
	}
	s.doesNow("it starts")
	s.disk, _ = scan(s.config.Dir, &s.language)
	late := fmt.Errorf("it did not start within %s", startTimeout)
	within, cancel := context.WithTimeoutCause(ctx, startTimeout, late)
	defer cancel()
	conn, err := connect(within, life, s.config, s.language, launch.start)
	if err != nil {
		if life.Err() != nil {
			return errClosed
		}
		if within.Err() != nil {
			err = context.Cause(within)
		}
		s.failed(err)
		return s.failedNote()
	}
	s.conn, s.holds, s.texts, s.known = conn, launch.Holds, map[string]text{}, nil
	if !s.holds() {
		s.stop()
		return errors.New("ended, because the mode changed while it started; it starts again when it is needed")
	}
	return nil
}

// stop ends the server's processes.
func (s *server) stop() {
	if s.conn == nil {
		return
	}
	s.conn.cut()
	<-s.conn.drained // within a deadline
	s.left = errors.Join(s.left, s.conn.left())
	s.conn = nil
}
