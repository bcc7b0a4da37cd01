package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/mcp"
	"github.com/settle-agent/settle/model/script"
)

const token = "0123456789abcdef0123456789abcdef"

// site is a frontend that is served over HTTP.
type site struct {
	t        *testing.T
	model    *script.Model
	hosts    *assemble.Sessions
	frontend *mcp.Frontend
	url      string
	http     *http.Client
	stops    chan stdio.Stop
	ended    chan error
}

func open(t *testing.T, limits mcp.Limits, steps ...script.Step) *site {
	t.Helper()
	m, dir := script.New(steps...), t.TempDir()
	return openOn(t, limits, m, dir, hosts(t, m, dir, ""))
}

func openOn(t *testing.T, limits mcp.Limits, m *script.Model, dir string, h *assemble.Sessions) *site {
	t.Helper()
	s := &site{
		t:     t,
		model: m,
		hosts: h,
		stops: make(chan stdio.Stop, 4),
		ended: make(chan error, 1),
		http:  &http.Client{Transport: &http.Transport{}},
	}
	s.frontend = mcp.New(mcp.Options{Sessions: s.hosts, Dir: dir, Version: "test"})
	place, err := guard.Listen(t.Context(), guard.Address{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	s.url = place.URL("", mcp.Path).String()
	endpoint := s.frontend.HTTP(token, guard.Names{})
	endpoint.Limits = limits
	go func() { // ends with the stop of the cleanup, which waits for it
		err := endpoint.Serve(place, s.stops)
		_ = s.frontend.Close()
		s.ended <- err
	}()
	t.Cleanup(func() {
		s.stop()
		s.http.CloseIdleConnections()
	})
	return s
}

func (s *site) stop() {
	s.t.Helper()
	s.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Error(err)
		}
		s.ended <- nil
	case <-time.After(patience):
		s.t.Error("the server does not end")
	}
}

// request makes a request as it is.
func (s *site) request(method, session, body string, change func(*http.Request)) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	if change != nil {
		change(r)
	}
	res, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// begin shakes hands.
func (s *site) begin() (session string) {
	s.t.Helper()
	res := s.request("POST", "", hello, nil)
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatal(res.StatusCode, err)
	}
	session = res.Header.Get("Mcp-Session-Id")
	s.request("POST", session, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`, nil)
	return session
}

// events reads a stream to its end and returns its event ids and messages.
func events(res *http.Response) (ids []string, all []message) {
	scan := bufio.NewScanner(res.Body)
	for scan.Scan() {
		if id, ok := strings.CutPrefix(scan.Text(), "id: "); ok {
			ids = append(ids, id)
		}
		if data, ok := strings.CutPrefix(scan.Text(), "data: "); ok && data != "" {
			var m message
			if json.Unmarshal([]byte(data), &m) == nil {
				all = append(all, m)
			}
		}
	}
	return ids, all
}

// Requests without the right token, origin or host are refused, and start nothing.
func TestForeignRequestsAreRefused(t *testing.T) {
	s := open(t, mcp.Limits{})
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"ours":       {func(*http.Request) {}, http.StatusOK},
		"no token":   {func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"wrong":      {func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") }, http.StatusUnauthorized},
		"in the URL": {func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + token }, http.StatusUnauthorized},
		"rebound":    {func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden},
		"localhost":  {func(r *http.Request) { r.Host = "localhost:1" }, http.StatusOK},
		"page":       {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"same site":  {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, http.StatusForbidden},
		"own page":   {func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, http.StatusOK},
		"elsewhere":  {func(r *http.Request) { r.URL.Path = "/other" }, http.StatusNotFound},
		"method":     {func(r *http.Request) { r.Method = http.MethodPut }, http.StatusMethodNotAllowed},
		"text":       {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType},
	} {
		res := s.request("POST", "", hello, c.change)
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode != c.status || strings.Contains(string(body), token) {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
}

func TestLimits(t *testing.T) {
	s := open(t, mcp.Limits{BodyBytes: 1000, Sessions: 1, Limits: guard.Limits{Rate: 0.001, Burst: 50}})
	if res := s.request("POST", "", `"`+strings.Repeat("x", 2000)+`"`, nil); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", res.StatusCode)
	}
	s.begin()
	if res := s.request("POST", "", hello, nil); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second session: %d", res.StatusCode)
	}
	for n := 0; ; n++ {
		if res := s.request("GET", "none", "", nil); res.StatusCode == http.StatusTooManyRequests {
			break
		}
		if n > 100 {
			t.Fatal("nothing bounds the requests")
		}
	}
}

// Wrong guesses of others do not lock out a client with the token.
func TestGuessesLockOutNobodyElse(t *testing.T) {
	s := open(t, mcp.Limits{Limits: guard.Limits{Rate: 1e-9, Burst: 50}})
	for range 45 {
		s.request("POST", "", hello, func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") })
	}
	if res := s.request("POST", "", hello, func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") }); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("guessing goes on: %d", res.StatusCode)
	}
	if res := s.request("POST", "", hello, nil); res.StatusCode != http.StatusOK {
		t.Errorf("the owner: %d", res.StatusCode)
	}
}

// client is the SDK's own client.
func (s *site) client(o *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "go", Version: "1"}, o).
		Connect(s.t.Context(), &sdk.StreamableClientTransport{
			Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{s.http.Transport}},
		}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.RoundTripper.RoundTrip(r)
}

func structured(t *testing.T, res *sdk.CallToolResult) (out outcome) {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOverHTTP(t *testing.T) {
	s := open(t, mcp.Limits{}, touching()...)
	progress := make(chan string, 100)
	c := s.client(&sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
	})
	params := &sdk.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "one"}}
	params.SetProgressToken("p")
	res, err := c.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if out := structured(t, res); out.Answer != "done" || out.Denied != 0 || len(progress) == 0 {
		t.Errorf("the answer is %+v; %d reports", out, len(progress))
	}
}

const runOne = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run","arguments":{"prompt":"one"},"_meta":{"progressToken":"p"}}}`

// A request that is cancelled interrupts its turn; its stream ends without an
// answer.
func TestCancelledOverHTTP(t *testing.T) {
	step, begun := waits()
	s := open(t, mcp.Limits{}, step)
	session := s.begin()
	res := s.request("POST", session, runOne, nil)
	<-begun
	s.request("POST", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil)
	ids, all := events(res)
	for _, m := range all {
		if m.Method == "" {
			t.Errorf("it was answered %+v", m)
		}
	}
	if len(ids) == 0 {
		t.Fatal("the stream had no events")
	}
	if got := s.hosts.All()[0].State().Turns[0].Cause; got == nil || got.Reason != event.Interrupted ||
		got.By != "raw" {
		t.Errorf("the turn ended with %+v", got)
	}
	// A client that resumes the stream does not receive an answer either.
	again := s.request("GET", session, "", func(r *http.Request) { r.Header.Set("Last-Event-ID", ids[0]) })
	_, rest := events(again)
	for _, m := range rest {
		if m.Method == "" {
			t.Errorf("it was answered %+v after all", m)
		}
	}
}

// A request is answered under its own id, or refused.
func TestIDsOverHTTP(t *testing.T) {
	s := open(t, mcp.Limits{})
	session := s.begin()
	for id, status := range map[string]int{"0.25": 400, "99999999999999999999": 400, "1.0": 200, "-3": 200, `"a"`: 200} {
		res := s.request("POST", session, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, nil)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status {
			t.Errorf("%s: status %d, %v", id, res.StatusCode, err)
		}
		if status == http.StatusBadRequest && !strings.Contains(string(body), `"id":`+id) {
			t.Errorf("%s: %s", id, body)
		}
	}
}

// A disconnect is no interrupt (C17): the client comes back for the rest.
func TestDisconnect(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{})
	s := open(
		t,
		mcp.Limits{},
		script.Turn(
			script.Do(func() { close(begun) }),
			script.Delay(0),
			script.Deaf(release),
			script.Text("still here"),
		),
	)
	session := s.begin()
	ctx, gone := context.WithCancel(t.Context())
	res := s.request("POST", session, runOne, func(r *http.Request) { *r = *r.WithContext(ctx) })
	first := make([]byte, 4096)
	n, err := res.Body.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	gone()
	close(release)
	_, id, _ := strings.Cut(string(first[:n]), "id: ")
	id, _, _ = strings.Cut(id, "\n")
	late := time.After(patience)
	for {
		again := s.request("GET", session, "", func(r *http.Request) { r.Header.Set("Last-Event-ID", id) })
		if again.StatusCode == http.StatusOK {
			_, all := events(again)
			if len(all) == 0 || !strings.Contains(string(all[len(all)-1].Result), "still here") {
				t.Errorf("the rest of the stream is %+v", all)
			}
			return
		}
		select { // the server has not seen yet that the client is gone
		case <-late:
			t.Fatalf("the stream cannot be resumed: %d", again.StatusCode)
		default:
		}
	}
}

// A client that ends its session interrupts the turns that it waits for.
func TestDelete(t *testing.T) {
	step, begun := waits()
	s := open(t, mcp.Limits{}, step)
	session := s.begin()
	s.request("POST", session, runOne, nil)
	<-begun
	if res := s.request("DELETE", session, "", nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("the end was answered %d", res.StatusCode)
	}
	if got := s.hosts.All()[0].State().Turns[0].Cause; got == nil || got.Reason != event.Interrupted {
		t.Errorf("the turn ended with %+v", got)
	}
	if res := s.request("POST", session, runOne, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a request after that was answered %d", res.StatusCode)
	}
}

// A client may end its session just as its request is about to begin a turn.
func TestDeleteComesFirst(t *testing.T) {
	step, _ := waits()
	m, dir := script.New(step), t.TempDir()
	h := hosts(t, m, dir, "")
	settings, leave := h.Settings, make(chan func(), 1)
	h.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
		if given["effort"] != "" { // the request is opening its session; settings can be read again
			select {
			case f := <-leave:
				f()
			default:
			}
		}
		return settings(dir, given)
	}
	s := openOn(t, mcp.Limits{}, m, dir, h)
	session := s.begin()
	leave <- func() { s.frontend.Left(session) }
	_, all := events(
		s.request("POST", session, strings.Replace(runOne, `"prompt":"one"`, `"prompt":"one","effort":"low"`, 1), nil),
	)
	if len(all) == 0 || !strings.Contains(string(all[len(all)-1].Result), `"abortReason":"interrupted"`) {
		t.Errorf("the request was answered with %+v", all)
	}
}

// Waiting clients receive responses before the server ends.
func TestStop(t *testing.T) {
	step, begun := waits()
	s := open(t, mcp.Limits{}, step)
	session := s.begin()
	res := s.request("POST", session, runOne, nil)
	s.request("GET", session, "", nil) // a stream on which nothing comes
	<-begun
	s.stop()
	_, all := events(res)
	if len(all) == 0 || !strings.Contains(string(all[len(all)-1].Result), `"abortReason":"shutdown"`) {
		t.Errorf("the stream ended with %+v", all)
	}
}

func TestManyCallers(t *testing.T) {
	step, begun := waits()
	s := open(t, mcp.Limits{}, step)
	c := s.client(nil)
	ran := make(chan *sdk.CallToolResult, 1)
	go func() { // ends with the turn
		res, err := c.CallTool(
			t.Context(),
			&sdk.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "one"}},
		)
		if err != nil {
			t.Error(err)
		}
		ran <- res
	}()
	<-begun
	id := s.hosts.All()[0].ID()
	answers := make(chan outcome, 20)
	for range cap(answers) {
		go func() { // ends with the turn
			res, err := c.CallTool(
				t.Context(),
				&sdk.CallToolParams{Name: "interrupt", Arguments: map[string]any{"session": id}},
			)
			if err != nil {
				t.Error(err)
			}
			answers <- structured(t, res)
		}()
	}
	aborted := 0
	for range cap(answers) {
		switch out := <-answers; {
		case out.AbortReason == "interrupted":
			aborted++
		case out.Outcome != "idle":
			t.Errorf("an interrupt was answered %+v", out)
		}
	}
	if out := structured(t, <-ran); out.AbortReason != "interrupted" || aborted == 0 {
		t.Errorf("the run was answered %+v; %d interrupts", out, aborted)
	}
}

// A stream on which nothing comes shows that the server is there.
func TestHeartbeat(t *testing.T) {
	step, begun := waits()
	s := open(t, mcp.Limits{Limits: guard.Limits{HeartbeatDelay: 20 * time.Millisecond}}, step)
	session := s.begin()
	res := s.request("POST", session, runOne, nil)
	<-begun
	beats := 0
	for scan := bufio.NewScanner(res.Body); beats < 3 && scan.Scan(); {
		if scan.Text() == ":" {
			beats++
		}
	}
	if beats < 3 {
		t.Errorf("%d heartbeats", beats)
	}
}
