package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/model/script"
)

// FuzzBody: whatever a body is, it is taken or refused with a problem, and the
// answer is as the description says.
func FuzzBody(f *testing.F) {
	for n, body := range []string{
		`{"text":"hello","mode":"queue","input":"mine"}`, `{"text":"","images":[{"media_type":"image/png","data":"QUJD"}]}`,
		`{"input":"x","hurry":true}`, `{"verdict":"approved_session","message":"go"}`, `{"id":"s2"}`, `{"id":"../s"}`, `null`, `{}`, `[`, "\x00", `{"text":"\ud800"}`,
	} {
		f.Add(uint8(n), body, "application/json")
	}
	f.Add(uint8(1), `text=a`, "application/x-www-form-urlencoded")
	f.Fuzz(func(t *testing.T, which uint8, body, media string) {
		s := setup{model: script.New().Otherwise(script.Text("done"))}
		s.limits.AnswerTimeout = time.Millisecond
		b := &harness{T: t}
		b.open(s)
		defer func() { _ = b.host.Close(t.Context()) }() // its sessions are in memory
		session, err := b.host.Session(t.Context(), "s", b.config)
		if err != nil {
			t.Fatal(err)
		}
		b.api = fuzzed(t, b.web)
		paths := []string{"/api/sessions", "/inputs", "/interrupt", "/approvals/p000001"}
		path := paths[int(which)%len(paths)]
		if path != paths[0] {
			path = "/api/sessions/" + session.ID() + path
		}
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		b.web.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("it is our fault: %s", w.Body)
		}
		if err := b.api.check(http.MethodPost, path, answer{w.Code, w.Header(), w.Body.Bytes()}); err != nil {
			t.Errorf("%v: %d %s", err, w.Code, w.Body)
		}
	})
}

func fuzzed(t *testing.T, handler http.Handler) (d document) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/api/openapi.json", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// FuzzRequest: no path, name or origin makes the server fail, or lets a
// request in that does not know the token.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/api/sessions", "localhost", "", "Bearer x")
	f.Add("POST", "/api/sessions/%2e%2e/x", "127.0.0.1:80", "http://localhost", "")
	f.Add("DELETE", "//api", "[::1]:1", "null", "Basic eA==")
	f.Add("GET", "/?token=x", "::1", "", "")
	f.Fuzz(func(t *testing.T, method, path, host, origin, authorization string) {
		r, err := http.NewRequest(method, "http://localhost", nil)
		if err != nil || strings.Contains(authorization, token) {
			return
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			return
		}
		r.Host, r.RemoteAddr = host, "127.0.0.1:1"
		r.Header.Set("Origin", origin)
		r.Header.Set("Authorization", authorization)
		b := &harness{T: t}
		b.open(setup{})
		defer func() { _ = b.host.Close(t.Context()) }() // nothing is open in it
		w := httptest.NewRecorder()
		b.web.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("it is our fault: %d %s", w.Code, w.Body)
		}
		if strings.HasPrefix(r.URL.Path, "/api") && w.Code < 400 {
			t.Errorf("it was let in: %d", w.Code)
		}
	})
}
