package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// beatDelay is the time between heartbeats while there is no other progress.
	beatDelay = 10 * time.Second
	// textDelay is the least time between two reports of streamed text.
	textDelay = time.Second
	// maxProgress bounds a message, in characters.
	maxProgress = 300
)

// progress sends the progress of a turn to a client that asked for it.
type progress struct {
	ctx   context.Context // the request's context, which determines the target of notifications
	to    *sdk.ServerSession
	token any // nil if the client does not want to know
	log   *slog.Logger
	// prompt identifies the request where there is no token.
	prompt string

	mu       sync.Mutex // guards the fields below
	n        int
	spoke    time.Time // time of the last notification
	activity string    // the present work
	texts    int       // characters of the message so far
	calls    map[string]string
}

func newProgress(ctx context.Context, req *sdk.CallToolRequest, prompt string, log *slog.Logger) *progress {
	return &progress{
		log:    log,
		ctx:    ctx,
		to:     req.Session,
		token:  req.Params.GetProgressToken(),
		prompt: prompt,
		calls:  map[string]string{},
	}
}

// take sends a notification about an event, if the event concerns a client.
func (p *progress) take(e event.Event) {
	if p.token == nil {
		if _, started := e.Data.(event.TurnStarted); started {
			p.announce(e)
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch d := e.Data.(type) {
	case event.TurnStarted:
		p.say(
			e,
			fmt.Sprintf(
				"session %s: turn %s started with %s", e.Session, e.Turn, strings.Trim(d.Provider+"/"+d.Model, "/"),
			),
		)
		p.activity = "waiting for the model"
	case event.AttemptEnded:
		if d.RetryIn != nil && d.Failure != nil {
			p.say(
				e,
				fmt.Sprintf(
					"trying again in %v: %s", (time.Duration(*d.RetryIn)*time.Millisecond).Round(time.Millisecond),
					d.Failure.Message,
				),
			)
		}
	case event.ItemStarted:
		p.texts = 0
	case event.ItemDelta:
		if d.Notice {
			p.say(e, transcript.NoticeOf(d))
		}
		if d.Stream == event.Text {
			p.texts += utf8.RuneCountInString(d.Text)
			p.activity = fmt.Sprintf("the model is writing: %d characters", p.texts)
			if time.Since(p.spoke) >= textDelay {
				p.say(e, p.activity)
			}
		}
	case event.ApprovalRequested:
		p.activity = "waiting for approval: " + d.Title
		p.say(e, p.activity)
	case event.CallStarted:
		p.calls[e.Item] = d.Title
		p.activity = "running: " + d.Title
		p.say(e, p.activity)
	case event.ItemEnded:
		p.ended(e, d)
	}
}

// maxAnnounced bounds the beginning of a prompt in a log notification, in characters.
const maxAnnounced = 80

// announce sends the session and the turn to a client without a progress token, which can
// then interrupt the turn or reply.
func (p *progress) announce(started event.Event) {
	// The answer has the session as well. The protocol versions of this frontend have logging.
	_ = p.to.Log(p.ctx, &sdk.LoggingMessageParams{ //nolint:staticcheck // see above
		Level: announceLevel, Logger: "settle",
		Data: map[string]string{
			"session": started.Session, "turn": started.Turn, "prompt": terminal.Short(p.prompt, maxAnnounced),
		},
	})
}

// announceLevel is the level of the log notifications, and the least level that a client
// receives before it sets another one.
const announceLevel = "notice"

// announcing has the sessions of clients that set no level receive log notifications: the
// protocol leaves the level to the server.
func announcing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		if s, ok := req.GetSession().(*sdk.ServerSession); ok && err == nil && method == "notifications/initialized" {
			level := &sdk.ServerRequest[*sdk.SetLoggingLevelParams]{Session: s} //nolint:staticcheck // as in announce
			level.Params = &sdk.SetLoggingLevelParams{Level: announceLevel}     //nolint:staticcheck // as in announce
			_, err = next(ctx, "logging/setLevel", level)
		}
		return result, err
	}
}

func (p *progress) ended(e event.Event, d event.ItemEnded) {
	switch d.Type {
	case event.Message:
		p.say(e, d.Text)
	case event.ToolCall:
		title, ran := p.calls[e.Item]
		delete(p.calls, e.Item)
		if ran {
			p.say(e, fmt.Sprintf("%s: %s", d.Status, title))
		}
		p.activity = "waiting for the model"
	}
}

// say sends a message. The caller holds mu.
func (p *progress) say(e event.Event, text string) {
	if p.ctx.Err() != nil {
		return // the client has cancelled the request
	}
	p.n++
	p.spoke = time.Now()
	params := &sdk.ProgressNotificationParams{
		ProgressToken: p.token,
		Progress:      float64(p.n),
		Message:       terminal.Short(text, maxProgress),
	}
	if e.Session != "" {
		params.Meta = sdk.Meta{"settle/session": e.Session, "settle/turn": e.Turn, "settle/seq": e.Seq}
	}
	_ = p.to.NotifyProgress(p.ctx, params) // the answer has everything that a failed notification would report
}

func (p *progress) beatOnce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.activity != "" && time.Since(p.spoke) >= beatDelay {
		p.say(event.Event{}, p.activity)
	}
}

// beat sends heartbeats while the turn runs, so that clients do not consider it dead. The
// returned function stops them and waits for the goroutine.
func (p *progress) beat(ctx context.Context) (stop func()) {
	if p.token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go scope.Shield(scope.Log(p.log, nil, "a heartbeat panicked"), func() { // ends with stop, which waits for it
		defer close(ended)
		for {
			select {
			case <-time.After(beatDelay):
			case <-ctx.Done():
				return
			}
			p.beatOnce()
		}
	})()
	return func() { cancel(); <-ended }
}
