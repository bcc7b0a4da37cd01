package execserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

// method serves a request. later, if it is not nil, runs beside the following requests,
// and returns the answer.
type method func(ctx context.Context, c *conn, raw json.RawMessage) (result any, later func() (any, error), err error)

// of is a method that answers before the next request is looked at.
func of[P any](do func(c *conn, ctx context.Context, params P) (any, error)) method {
	return func(ctx context.Context, c *conn, raw json.RawMessage) (any, func() (any, error), error) {
		params, err := decode[P](raw)
		if err != nil {
			return nil, nil, err
		}
		result, err := do(c, ctx, params)
		return result, nil, err
	}
}

// beside is a method that may wait: its first part keeps the order of requests, the
// second does not hold up others.
func beside[P any](do func(c *conn, ctx context.Context, params P) (func() (any, error), error)) method {
	return func(ctx context.Context, c *conn, raw json.RawMessage) (any, func() (any, error), error) {
		params, err := decode[P](raw)
		if err != nil {
			return nil, nil, err
		}
		later, err := do(c, ctx, params)
		return nil, later, err
	}
}

// methods returns the methods for an initialized client.
func methods() map[string]method {
	return map[string]method{
		"environment/info": of(
			func(c *conn, _ context.Context, _ struct{}) (any, error) { return c.server.about(), nil },
		),
		"environment/status": of(func(*conn, context.Context, struct{}) (any, error) { return status{"ready"}, nil }),
		"process/start":      of((*conn).start),
		"process/read":       beside((*conn).readOutput),
		"process/write":      beside((*conn).writeInput),
		"process/signal":     of((*conn).signal),
		"process/terminate":  beside((*conn).terminate),
		"fs/readFile":        of((*conn).readFile),
		"fs/writeFile":       of((*conn).writeFile),
		"fs/open":            of((*conn).openFile),
		"fs/readBlock":       of((*conn).readBlock),
		"fs/close":           of((*conn).closeFile),
		"fs/createDirectory": of((*conn).createDirectory),
		"fs/getMetadata":     of((*conn).getMetadata),
		"fs/canonicalize":    of((*conn).canonicalize),
		"fs/readDirectory":   of((*conn).readDirectory),
		"fs/walk":            of((*conn).walk),
		"fs/remove":          of((*conn).remove),
		"fs/copy":            of((*conn).copy),
	}
}

type status struct {
	Status string `json:"status"`
}

// dispatch serves a request of so many bytes.
func (c *conn) dispatch(ctx context.Context, m incoming, bytes int) {
	result, later, err := c.handle(ctx, m)
	if later == nil || err != nil {
		c.reply(m.ID, bytes, result, err)
		return
	}
	c.work.Go(
		scope.Shield(
			func(err error) { c.panicked(err); c.reply(m.ID, bytes, nil, err) },
			func() { // ends with its process or with the connection
				result, err := later()
				c.reply(m.ID, bytes, result, err)
			},
		),
	)
}

func (c *conn) handle(ctx context.Context, m incoming) (any, func() (any, error), error) {
	if *m.Method == "initialize" {
		result, err := c.initialize(ctx, m.Params)
		return result, nil, err
	}
	serve := c.server.methods[*m.Method]
	switch {
	case serve == nil:
		return nil, nil, jsonrpc.Errorf(
			jsonrpc.CodeMethodNotFound, "settle's exec-server does not implement %q", *m.Method,
		)
	case c.session == nil:
		return nil, nil, invalidRequest("client must call initialize before %q", *m.Method)
	case !c.ready:
		return nil, nil, invalidRequest("client must send initialized before %q", *m.Method)
	case !c.session.attachedTo(c):
		return nil, nil, invalidRequest("session has been resumed by another connection")
	}
	return serve(ctx, c, m.Params)
}

// note takes a notification.
func (c *conn) note(name string) error {
	switch {
	case name != "initialized":
		return fmt.Errorf("the client sent the notification %q, which the protocol does not have", name)
	case c.session == nil:
		return fmt.Errorf("the client sent %q before initialize", name)
	}
	c.ready = true
	return nil
}

type initializeParams struct {
	Client *string `json:"clientName"`
	Resume *string `json:"resumeSessionId"`
}

type initializeResult struct {
	Session     string `json:"sessionId"`
	Environment about  `json:"environmentInfo"`
}

func (c *conn) initialize(ctx context.Context, raw json.RawMessage) (any, error) {
	params, err := decode[initializeParams](raw)
	switch {
	case err != nil:
		return nil, err
	case params.Client == nil:
		return nil, invalidParams("missing field `clientName`")
	case c.session != nil:
		return nil, invalidRequest("initialize may only be sent once per connection")
	}
	s, err := c.server.attach(ctx, c, params.Resume)
	if err != nil {
		return nil, err
	}
	c.session = s
	c.mu.Lock()
	c.attached = s
	c.mu.Unlock()
	return initializeResult{s.id, c.server.about()}, nil
}

type readParams struct {
	Process *string `json:"processId"`
	After   *uint64 `json:"afterSeq"`
	Bytes   *int    `json:"maxBytes"`
	Wait    *int64  `json:"waitMs"`
}

type chunk struct {
	Seq    uint64 `json:"seq"`
	Stream stream `json:"stream"`
	Chunk  []byte `json:"chunk"`
}

type readResult struct {
	Chunks  []chunk `json:"chunks"`
	Next    uint64  `json:"nextSeq"`
	Exited  bool    `json:"exited"`
	Code    *int    `json:"exitCode"`
	Closed  bool    `json:"closed"`
	Failure *string `json:"failure"`
	Denied  bool    `json:"sandboxDenied"`
}

// maxWait bounds the wait of a read.
const maxWait = time.Hour

func (c *conn) readOutput(ctx context.Context, params readParams) (func() (any, error), error) {
	p, err := c.find(params.Process)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, invalidRequest("unknown process id %s", *params.Process)
	}
	var after uint64
	if params.After != nil {
		after = *params.After
	}
	limit, wait := logBytes, time.Duration(0)
	if params.Bytes != nil && *params.Bytes >= 0 {
		limit = min(limit, *params.Bytes)
	}
	if params.Wait != nil && *params.Wait > 0 {
		wait = min(time.Duration(min(*params.Wait, maxWait.Milliseconds()))*time.Millisecond, maxWait)
	}
	limited := params.Bytes != nil
	first, changed := p.since(after, limit)
	if changed == nil || wait == 0 {
		return func() (any, error) { return result(first, limited), nil }, nil
	}
	return func() (any, error) {
		state, err := p.await(ctx, after, limit, wait, changed)
		if err != nil {
			return nil, err
		}
		return result(state, limited), nil
	}, nil
}

// result returns the protocol's form of a process's state. If the client limits the size,
// the next number is the one after the last chunk, of any stream, as Codex answers.
func result(state processState, limited bool) readResult {
	r := readResult{
		Chunks: []chunk{}, Next: state.next, Exited: state.exited, Closed: state.closed,
		Failure: state.trouble, Denied: state.denied,
	}
	if state.exited {
		r.Code = &state.code
	}
	for _, e := range state.output {
		r.Chunks = append(r.Chunks, chunk{e.seq, e.stream, e.data})
	}
	if n := len(r.Chunks); n > 0 && limited {
		r.Next = r.Chunks[n-1].Seq + 1
	}
	return r
}

// find returns a process of the client, or nil.
func (c *conn) find(id *string) (*process, error) {
	if id == nil {
		return nil, invalidParams("missing field `processId`")
	}
	return c.session.find(*id), nil
}

type writeParams struct {
	Process *string `json:"processId"`
	Chunk   []byte  `json:"chunk"`
	ID      string  `json:"writeId"`
}

func (c *conn) writeInput(ctx context.Context, params writeParams) (func() (any, error), error) {
	p, err := c.find(params.Process)
	refuse := func(text string) (func() (any, error), error) {
		return func() (any, error) { return status{text}, nil }, nil
	}
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return refuse("unknownProcess")
	case p.input == nil || !p.input.add(params.ID, params.Chunk):
		return refuse("stdinClosed")
	}
	return func() (any, error) {
		p.input.room(ctx)
		return status{"accepted"}, nil
	}, nil
}

type signalParams struct {
	Process *string `json:"processId"`
	Signal  string  `json:"signal"`
}

func (c *conn) signal(_ context.Context, params signalParams) (any, error) {
	p, err := c.find(params.Process)
	switch {
	case err != nil:
		return nil, err
	case params.Signal != "interrupt":
		return nil, invalidParams("unknown signal %q, expected \"interrupt\"", params.Signal)
	case p != nil:
		p.tracked.Interrupt()
	}
	return struct{}{}, nil
}

type terminated struct {
	Running bool `json:"running"`
}

// terminate ends a process and all that it has started, whether it has exited or
// not, and answers when that is done (C7).
func (c *conn) terminate(_ context.Context, params struct {
	Process *string `json:"processId"`
},
) (func() (any, error), error) {
	p, err := c.find(params.Process)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return func() (any, error) { return terminated{}, nil }, nil
	}
	running := p.running()
	return func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		if left := p.end(ctx, proc.DefaultGrace); len(left) > 0 {
			return nil, fmt.Errorf(
				"cannot end %d processes; the first is %d: %s", len(left), left[0].PID, left[0].Command,
			)
		}
		return terminated{running}, nil
	}, nil
}

type (
	outputNote struct {
		Process string `json:"processId"`
		Seq     uint64 `json:"seq"`
		Stream  stream `json:"stream"`
		Chunk   []byte `json:"chunk"`
	}
	exitNote struct {
		Process string `json:"processId"`
		Seq     uint64 `json:"seq"`
		Code    int    `json:"exitCode"`
		Denied  bool   `json:"sandboxDenied"`
	}
	closedNote struct {
		Process string `json:"processId"`
		Seq     uint64 `json:"seq"`
	}
)

// notification returns the message about an entry.
func (i parcel) notification() []byte {
	switch i.what {
	case output:
		return notify(string(output), outputNote{i.p.id, i.seq, i.stream, i.data})
	case exited:
		return notify(string(exited), exitNote{i.p.id, i.seq, i.code, i.denied})
	}
	return notify(string(closed), closedNote{i.p.id, i.seq})
}
