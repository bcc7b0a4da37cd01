// Package wiretest helps to test wire formats: an HTTP transport that answers from memory, and a
// reader of streams that checks the promises of every provider. Tests only.
package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/settle-agent/settle/model"
)

// Server is an http.RoundTripper that gives one answer to every request.
type Server struct {
	Status int // 200 if 0
	Header http.Header
	Body   string
	// Then, if set, is the error that a read of the body gives after Body;
	// io.EOF else.
	Then error
	// Hang makes reads after Body wait for the request's end.
	Hang bool

	mu       sync.Mutex
	requests []Sent
}

// DocumentRequest is a prompt with a PDF for the model with the name.
func DocumentRequest(name string) model.Request {
	return model.Request{Model: name, Input: []model.Item{{
		Role: model.User, Text: "Sum up.",
		Documents: []model.Document{{MediaType: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}},
	}}}
}

// Sent is a request that the server got.
type Sent struct {
	Method, URL string
	Header      http.Header
	Body        []byte
}

// Client returns a client of the server.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s} }

// Sent returns the requests that the server received, oldest first.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := Sent{Method: req.Method, URL: req.URL.String(), Header: req.Header.Clone()}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	s.mu.Lock()
	s.requests = append(s.requests, sent)
	s.mu.Unlock()
	status := s.Status
	if status == 0 {
		status = http.StatusOK
	}
	header := s.Header
	if header == nil {
		header = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	}
	body := &body{rest: s.Body, then: s.Then, closed: make(chan struct{})}
	if s.Hang {
		body.hang = req.Context()
	}
	if body.then == nil {
		body.then = io.EOF
	}
	return &http.Response{StatusCode: status, Header: header, Body: body, Request: req}, nil
}

type body struct {
	rest   string
	then   error
	hang   context.Context
	once   sync.Once
	closed chan struct{}
}

func (b *body) Read(p []byte) (int, error) {
	if b.rest == "" && b.hang != nil {
		select {
		case <-b.hang.Done():
			return 0, b.hang.Err()
		case <-b.closed:
			return 0, errors.New("read on closed body")
		}
	}
	if b.rest == "" {
		return 0, b.then
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// Item is an item as it came out of a stream.
type Item struct {
	Role             model.Role
	Text             string
	ID, CallID, Name string
	Signature        *model.ProviderSignature
	Open             bool // it never ended
	Dropped          bool
}

// Response is a stream that was read to its end.
type Response struct {
	ID    string
	Items []Item
	// Sources are the pages that a search found: "address title".
	Sources []string
	Stop    model.StopReason
	Usage   *model.Usage
	Tokens  model.Tokens
	Pings   int
	Err     error
}

// Read reads a stream and checks it: one Start first, items begun in the order of their indexes,
// deltas only within an item, an end or an error last and nothing after it. The error names the
// broken promise.
func Read(ctx context.Context, p model.Provider, req model.Request) (Response, error) {
	r := reader{}
	for c, err := range p.Stream(ctx, req) {
		if r.ended {
			return r.Response, errors.New("a chunk after the end")
		}
		if err != nil {
			if c != (model.Chunk{}) {
				return r.Response, errors.New("an error with a chunk")
			}
			r.ended, r.Err = true, err
			continue
		}
		if err := r.chunk(c); err != nil {
			return r.Response, fmt.Errorf("chunk %+v: %w", c, err)
		}
	}
	if !r.ended {
		return r.Response, errors.New("neither an end nor an error")
	}
	return r.Response, nil
}

type reader struct {
	Response
	started, ended bool
}

func (r *reader) chunk(c model.Chunk) error {
	if !r.started && c.Kind != model.Start && c.Kind != model.Ping {
		return errors.New("before the start")
	}
	switch c.Kind {
	case model.Start:
		if r.started {
			return errors.New("a second start")
		}
		r.started, r.ID = true, c.ID
	case model.ItemStart:
		if c.Index != len(r.Items) {
			return fmt.Errorf("the index should be %d", len(r.Items))
		}
		r.Items = append(r.Items, Item{Role: c.Role, ID: c.ID, CallID: c.CallID, Name: c.Name, Open: true})
	case model.Delta, model.ItemEnd, model.ItemDrop:
		return r.within(c)
	case model.Source:
		r.Sources = append(r.Sources, c.Text+" "+c.Name)
	case model.Ping:
		r.Pings++
	case model.UsageReport:
		if c.Usage == nil {
			return errors.New("no usage")
		}
		r.Usage = c.Usage
	case model.TokenReport:
		r.Tokens.Add(*c.Tokens)
	case model.End:
		r.ended, r.Stop = true, c.Stop
		if c.Usage != nil {
			r.Usage = c.Usage
		}
		if c.Stop == "" {
			return errors.New("no stop reason")
		}
	default:
		return errors.New("unknown kind")
	}
	return nil
}

func (r *reader) within(c model.Chunk) error {
	if c.Index < 0 || c.Index >= len(r.Items) {
		return errors.New("no such item")
	}
	item := &r.Items[c.Index]
	if !item.Open || item.Role != c.Role {
		return fmt.Errorf("the item is over or of role %q", item.Role)
	}
	if c.Kind == model.Delta {
		if c.Text == "" {
			return errors.New("an empty delta")
		}
		item.Text += c.Text
		return nil
	}
	item.Open = false
	if c.Kind == model.ItemDrop {
		item.Dropped = true
		return nil
	}
	item.ID, item.CallID, item.Name, item.Signature = c.ID, c.CallID, c.Name, c.Signature
	return nil
}

// SSE returns events as a stream; "event: x\n" may stand before a body.
func SSE(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		if name, data, ok := strings.Cut(e, "|"); ok && !strings.ContainsAny(name, `{"`) {
			fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
			continue
		}
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}
