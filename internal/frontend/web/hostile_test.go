package web_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
)

// raw sends a request as it is written and returns the answer. Without Host
// and Connection headers of its own it gets proper ones.
func (b *harness) raw(request string, header ...string) (answer, error) {
	c, err := net.Dial("tcp", b.place.Addr().String())
	if err != nil {
		return answer{}, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return answer{}, err
	}
	head := request + " HTTP/1.1\r\nConnection: close\r\n"
	if !strings.Contains(strings.Join(header, "\n"), "Host:") {
		head += "Host: " + b.place.Addr().String() + "\r\n"
	}
	for _, h := range header {
		head += h + "\r\n"
	}
	sent := make(chan error, 1)
	go func() { // ends with the connection
		_, err := io.WriteString(c, head+"\r\n")
		sent <- err
	}()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return answer{}, errors.Join(err, <-sent)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, text}, err
}

const bearer = "Authorization: Bearer " + token

// refused checks that an answer is a problem with the status, and gives other
// sites nothing.
func (b *harness) refused(what string, a answer, status int) {
	b.Helper()
	var p struct {
		Type, Title, Detail string
		Status              int
	}
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != status || p.Status != status ||
		p.Type == "" || p.Title == "" || p.Detail == "" || a.header.Get("Content-Type") != "application/problem+json" {
		b.Errorf("%s: %d %v %s, want a problem with %d", what, a.status, a.header, a.body, status)
	}
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			b.Errorf("%s: there is a header %s", what, name)
		}
	}
}

func TestHostileRequests(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir()})
	session := b.session("s")
	self := b.place.Addr().String()
	_, port, err := net.SplitHostPort(self)
	if err != nil {
		t.Fatal(err)
	}
	json := "Content-Type: application/json"
	for _, c := range []struct {
		name, request string
		header        []string
		status        int
	}{
		{"no token", "GET /api/sessions", nil, 401},
		{"a wrong token", "GET /api/sessions", []string{bearer + "x"}, 401},
		{"the beginning of the token", "GET /api/sessions", []string{bearer[:len(bearer)-1]}, 401},
		{"an empty token", "GET /api/sessions", []string{"Authorization: Bearer "}, 401},
		{"another scheme", "GET /api/sessions", []string{"Authorization: Basic " + token}, 401},
		{"the token in the query of the API", "GET /api/sessions?token=" + token, nil, 401},
		{"the token as a cookie", "GET /api/sessions", []string{"Cookie: settle_" + port + "=" + token}, 401},
		{"the token in the query of a stream", "GET " + session + "/events?token=" + token + "&access_token=" + token, nil, 401},
		{"the token in the query, with a cookie of before", "GET /api/sessions?token=" + token, []string{"Cookie: settle_" + port + "=" + cookieOfBefore()}, 401},
		{"the description without a token", "GET /api/openapi.json", nil, 401},

		{"a name that points here", "GET /api/sessions", []string{bearer, "Host: evil.example:" + port}, 421},
		{"a name that begins like ours", "GET /api/sessions", []string{bearer, "Host: localhost.evil.example"}, 421},
		{"a name that begins like our address", "GET /api/sessions", []string{bearer, "Host: 127.0.0.1.evil.example"}, 421},
		{"another address", "GET /api/sessions", []string{bearer, "Host: 10.0.0.1:" + port}, 421},
		{"no name", "GET /api/sessions", []string{bearer, "Host: "}, 421},
		{"the page by another name", "GET /", []string{"Host: evil.example"}, 421},

		{"another site's page", "POST " + session + "/interrupt", []string{bearer, "Origin: https://evil.example"}, 403},
		{"a page without an origin", "POST " + session + "/interrupt", []string{bearer, "Origin: null"}, 403},
		{"an empty origin", "POST " + session + "/interrupt", []string{bearer, "Origin: "}, 403},
		{"a page on another port", "GET /api/sessions", []string{bearer, "Origin: http://127.0.0.1:1"}, 403},
		{"a page by another name of ours", "GET /api/sessions", []string{bearer, "Origin: http://localhost:" + port}, 403},
		{"another scheme's page", "GET /api/sessions", []string{bearer, "Origin: chrome-extension://" + self}, 403},
		{"a browser that says cross-site", "GET /api/sessions", []string{bearer, "Sec-Fetch-Site: cross-site"}, 403},
		{"a browser that says same-site", "GET /api/sessions", []string{bearer, "Sec-Fetch-Site: same-site"}, 403},
		{"a link to the API", "GET /api/sessions", []string{bearer, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403},
		{"a frame's script", "GET /", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"a preflight", "OPTIONS /api/sessions", []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, 403},

		{"a form", "POST /api/sessions", []string{bearer, "Content-Type: text/plain", "Content-Length: 2", "", "{}"}, 415},
		{"another form", "POST /api/sessions", []string{bearer, "Content-Type: application/x-www-form-urlencoded", "Content-Length: 2", "", "{}"}, 415},
		{"no media type", "POST /api/sessions", []string{bearer, "Content-Length: 2", "", "{}"}, 415},

		{"OPTIONS", "OPTIONS /api/sessions", []string{bearer}, 405},
		{"TRACE", "TRACE /api/sessions", []string{bearer}, 405},
		{"HEAD", "GET /api", []string{bearer}, 404},
		{"PUT", "PUT /", nil, 405},
		{"another method", "POST " + session + "/events", []string{bearer}, 405},

		{"a body that is too large", "POST /api/sessions", []string{bearer, json, "Content-Length: 65537"}, 413},
		{"an input of 1 GB", "POST " + session + "/inputs", []string{bearer, json, "Content-Length: 1073741824"}, 413},
	} {
		a, err := b.raw(c.request, c.header...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b.refused(c.name, a, c.status)
	}
	if events := len(b.exported(session, unfinished())); events != 1 {
		t.Errorf("the session has %d events: something was done", events)
	}
}

// Requests that are only unusual are admitted.
func TestUnusualRequests(t *testing.T) {
	b := serve(t, setup{names: []string{"Box.example"}})
	self := b.place.Addr().String()
	for _, c := range []struct {
		name, request string
		header        []string
	}{
		{"a scheme in small letters", "GET /api/sessions", []string{"Authorization: bearer  " + token}},
		{"localhost", "GET /api/sessions", []string{bearer, "Host: LOCALHOST:1"}},
		{"localhost with a dot", "GET /api/sessions", []string{bearer, "Host: localhost."}},
		{"IPv6", "GET /api/sessions", []string{bearer, "Host: [::1]:8080"}},
		{"IPv6 without a port", "GET /api/sessions", []string{bearer, "Host: [::1]"}},
		{"a name that was allowed", "GET /api/sessions", []string{bearer, "Host: box.example"}},
		{"our own page", "GET /api/sessions", []string{bearer, "Sec-Fetch-Site: same-origin", "Origin: http://" + self}},
		{"a cookie of somebody else's", "GET /api/sessions", []string{bearer, "Cookie: other=1"}},
		{"a link of before", "GET /?token=" + token, nil},
		{"a link to the page", "GET /", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}},
		{"HEAD for the page", "HEAD /", nil},
	} {
		a, err := b.raw(c.request, c.header...)
		if err != nil || a.status != http.StatusOK {
			t.Errorf("%s: %d %s, %v", c.name, a.status, a.body, err)
		}
	}
}

// cookieOfBefore returns the cookie that earlier versions gave a browser for the token.
func cookieOfBefore() string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("settle cookie 1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// Browsers send a cookie to every port of a host: a program there would learn the secret that
// admits it here. So settle sets no cookie, and no cookie admits a client.
func TestNoCookie(t *testing.T) {
	b := serve(t, setup{})
	_, port, err := net.SplitHostPort(b.place.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/?token=" + token, "/api/sessions", "/api/sessions?token=" + token} {
		for _, header := range []string{bearer, "X-None: 1"} {
			a, err := b.raw("GET "+path, header)
			if err != nil {
				t.Fatal(err)
			}
			if set := a.header.Values("Set-Cookie"); len(set) > 0 {
				t.Errorf("%s, %s: it sets %q", path, header, set)
			}
		}
	}
	a, err := b.raw("GET /api/sessions", "Cookie: settle_"+port+"="+cookieOfBefore())
	if err != nil {
		t.Fatal(err)
	}
	b.refused("a cookie of before", a, http.StatusUnauthorized)
}

// The headers of a response forbid a browser everything that the response does not need.
func TestSecurityHeaders(t *testing.T) {
	b := serve(t, setup{})
	for _, path := range []string{"/", "/nothing", "/api/sessions", "/api/nothing"} {
		a, err := b.raw("GET "+path, bearer)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		policy := a.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q has no %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
	}
}

// Paths that try to get elsewhere get nowhere, and are not redirected.
func TestPathTricks(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir()})
	b.session("s")
	for _, path := range []string{
		"//api/sessions", "/api//sessions", "/api/./sessions", "/api/x/../sessions", "/api/sessions/../../etc/passwd", "/../api/sessions",
		"/api/%2e%2e/api/sessions", "/%2e%2e/%2e%2e/etc/passwd", "/api/sessions/%00", "/api/sessions/s%0a", "/api\\sessions", "/api/sessions/..\\s",
		"/api/sessions/", "/api/sessions/s/", "/api/sessions/s/events/", "/API/sessions", "/api", "/api/", "/api/sessions/s/../s", "/assets/../api/sessions",
		"/api/sessions/%2e%2e%2fsessions%2fs", "/api/sessions/s%2f..%2fs", "/api/sessions/..%5c..%5cs",
		"/api/sessions/%2fetc%2fpasswd", "/api/sessions/s%2fevents", "/api/sessions/%c0%ae%c0%ae", "/api/sessions/s.log", "/api/sessions/sessions%2fs",
	} {
		a, err := b.raw("GET "+path, bearer)
		if err != nil || a.status != http.StatusNotFound && a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %v %s, %v", path, a.status, a.header, a.body, err)
		}
	}
}

func TestMalformedJSON(t *testing.T) {
	b := serve(t, setup{})
	session := b.session("s")
	for _, body := range []string{
		`{`, `}`, `{"text":"a"`, `{"text":"a"}}`, `{"text":"a"}{"text":"b"}`, `{"text":"a"} x`, `{'text':'a'}`, `{"text":"a",}`, `nul`, `1`, `"x"`, `[]`,
		`{"text":["a"]}`, `{"text":{}}`, `{"mode":"never","text":"a"}`, `{"images":[{"media_type":"image/png","data":"*"}]}`, `{"images":[{}]}`, `{"images":[{"media_type":"image/png","data":"QUJD"}]}`,
		`{"images":` + strings.Repeat("[", 30_000), "\xff\xfe{\x00}", "{\"text\":\"\n\"}", `{"text":"a","text2":"b"}`, strings.Repeat(" ", 1000),
		`{"text":"a","input":"` + strings.Repeat("i", 129) + `"}`,
	} {
		b.refused(body[:min(len(body), 40)], b.send("POST", session+"/inputs", body), http.StatusBadRequest)
	}
	if events := len(b.exported(session, unfinished())); events != 1 {
		t.Errorf("the session has %d events: something was done", events)
	}
}

func TestHeaderFloods(t *testing.T) {
	b := serve(t, setup{})
	many := []string{bearer}
	for n := range 20_000 {
		many = append(many, fmt.Sprintf("X-%d: 1", n))
	}
	for name, header := range map[string][]string{
		"a large one":   {bearer, "X-Large: " + strings.Repeat("x", 1<<20)},
		"many":          many,
		"a long cookie": {bearer, "Cookie: " + strings.Repeat("a=b; ", 100_000)},
	} {
		a, err := b.raw("GET /api/sessions", header...)
		if err == nil && a.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a, err := b.raw("GET /" + strings.Repeat("x", 1<<20)); err == nil &&
		a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long path: %d", a.status)
	}
	b.session("s") // others are served
}

// endless is a body that goes on, and counts how much of it was taken.
type endless struct {
	head string
	sent atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	if e.sent.Add(int64(len(p))) > 1<<30 {
		return 0, errors.New("all of it was taken")
	}
	return len(p), nil
}

// A body without a length is not read further than one may be long.
func TestEndlessBody(t *testing.T) {
	b := serve(t, setup{})
	session := b.session("s")
	body := &endless{head: `{"text":"`}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url(session+"/inputs"), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if a, err := b.do(r); err == nil { // else the connection was closed while it was written to
		b.refused("an endless body", a, http.StatusRequestEntityTooLarge)
	}
	if sent := body.sent.Load(); sent > 64<<20 {
		t.Errorf("%d bytes were taken", sent)
	}
	b.input(session, "others are served")
	b.until(session, event.Event.Terminal)
}

// Addresses are slowed down when they guess, and others are not.
func TestRateLimit(t *testing.T) {
	s := setup{}
	s.limits.Rate, s.limits.Burst = 1e-9, 200
	b := serve(t, s)
	limited := false
	for range 20 {
		a, err := b.raw("GET /api/sessions", "Authorization: Bearer guess")
		if err != nil {
			t.Fatal(err)
		}
		if limited = a.status == http.StatusTooManyRequests; limited {
			b.refused("too many guesses", a, http.StatusTooManyRequests)
			if a.header.Get("Retry-After") == "" {
				t.Error("it does not say when to come again")
			}
			break
		}
		b.refused("a guess", a, http.StatusUnauthorized)
	}
	if !limited {
		t.Error("guessing goes on for ever")
	}
	for range 45 {
		if a, err := b.raw("GET /api/sessions", "Authorization: Bearer guess"); err != nil ||
			a.status != http.StatusTooManyRequests {
			t.Fatalf("a guess after the limit: %d, %v", a.status, err)
		}
	}
	for path, header := range map[string]string{"/api/sessions": bearer, "/": "X-None: 1"} {
		if a, err := b.raw("GET "+path, header); err != nil || a.status != http.StatusOK {
			t.Errorf("others' guesses lock the owner out of %s: %d %s, %v", path, a.status, a.body, err)
		}
	}
}

// Connections beyond the bound are closed; earlier ones stay open.
func TestTooManyConnections(t *testing.T) {
	place, err := listenFor(t, 2)
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, setup{listen: func() (net.Listener, *http.Client) {
		return place, &http.Client{
			Transport: &http.Transport{
				DialContext: (&net.Dialer{}).DialContext,
				Proxy:       func(*http.Request) (*url.URL, error) { return nil, nil },
			},
		}
	}, base: "http://" + place.Addr().String()})
	b.session("s") // one is in use, and kept
	second, err := net.Dial("tcp", place.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := io.WriteString(second, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil {
		t.Fatal(err) // it is counted now
	}
	third, err := net.Dial("tcp", place.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if err := third.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := third.Read(make([]byte, 1)); errors.Is(err, net.ErrClosed) || err == nil || isTimeout(err) {
		t.Errorf("the third connection: %v", err)
	}
	b.send("GET", "/api/sessions", nil)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
