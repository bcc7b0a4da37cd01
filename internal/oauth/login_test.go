package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/internal/oauth/oauthtest"
)

// fixture is a data directory, and a server to log in to.
type fixture struct {
	*oauthtest.Server

	t     *testing.T
	dir   string
	store oauth.Store
	ask   *http.Client

	mu      sync.Mutex
	secrets []string
}

func setUp(t *testing.T, o oauthtest.Options) *fixture {
	t.Helper()
	f := &fixture{Server: oauthtest.New(t, o), t: t, dir: t.TempDir()}
	f.store = oauth.NewStore(f.dir)
	f.ask = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return f
}

// guarded returns the HTTP client with the guard of the server.
func (f *fixture) guarded(server string) *http.Client {
	g := &oauth.Guard{Server: server}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: g.DialContext, Proxy: g.Proxy}}
}

func (f *fixture) learn(secrets ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.secrets = append(f.secrets, secrets...)
}

func (f *fixture) tokens() *oauth.Tokens {
	return &oauth.Tokens{Store: f.store, Client: f.guarded, Learn: f.learn}
}

// login logs in and passes the link to then, which acts as the person.
func (f *fixture) login(then func(link string), change ...func(*oauth.Login)) error {
	f.t.Helper()
	var visits sync.WaitGroup
	defer visits.Wait()
	l := &oauth.Login{
		URL: f.Resource(), Ask: f.ask, Client: f.guarded(f.Resource()), Learn: f.learn,
		Show:   func(link string) { visits.Go(func() { then(link) }) },
		Reject: func(err error) { f.t.Logf("rejected: %v", err) },
	}
	for _, c := range change {
		c(l)
	}
	return f.store.Login(f.t.Context(), l)
}

// consent acts as a person who consents.
func (f *fixture) consent(link string) { f.Follow(f.Visit(link)) }

func (f *fixture) token(refused string) (string, error) {
	return f.tokens().Token(f.t.Context(), f.Resource(), refused)
}

// accepted reports whether the resource accepts the token.
func (f *fixture) accepted(token string) bool {
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.Resource(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := f.ask.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = got.Body.Close()
	return got.StatusCode == http.StatusOK
}

func (f *fixture) serves() *fixture {
	f.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return f
}

func TestLogin(t *testing.T) {
	for name, o := range map[string]oauthtest.Options{
		"a challenge":   {Scope: "a b"},
		"no challenge":  {NoChallenge: true},
		"OpenID":        {OpenID: true},
		"before 2025-6": {Legacy: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t, o).serves()
			var link string
			if err := f.login(func(l string) { link = l; f.consent(l) }); err != nil {
				t.Fatal(err)
			}
			token, err := f.token("")
			if err != nil || !f.accepted(token) {
				t.Errorf("the token %q is not accepted: %v", token, err)
			}
			if !slices.Contains(f.secrets, token) {
				t.Error("the token is not known as a secret")
			}
			u, _ := url.Parse(link)
			want := map[string]string{"a challenge": "a b offline_access", "before 2025-6": "offline_access"}[name]
			if want == "" {
				want = "default offline_access"
			}
			if got := u.Query().Get("scope"); got != want {
				t.Errorf("it asked for %q, not for %q", got, want)
			}
		})
	}
}

// Only the user can read the tokens.
func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	f := setUp(t, oauthtest.Options{})
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == f.dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The browser can be on another machine; the person pastes the address that it shows.
func TestPastedAddress(t *testing.T) {
	f := setUp(t, oauthtest.Options{}).serves()
	pasted, rejected := make(chan string), make(chan error)
	err := f.login(func(link string) {
		back := f.Visit(link)
		for _, wrong := range []string{"hello", strings.Replace(back, "state=", "state=x", 1)} {
			pasted <- wrong
			if err := <-rejected; err == nil {
				t.Errorf("%q is not rejected", wrong)
			}
		}
		pasted <- "  " + back + "\n"
		close(pasted)
	}, func(l *oauth.Login) { l.Pasted, l.Reject = pasted, func(err error) { rejected <- err } })
	if err != nil {
		t.Fatal(err)
	}
	if token, err := f.token(""); err != nil || !f.accepted(token) {
		t.Errorf("the token is not accepted: %v", err)
	}
}

// Another local process that guesses the port can neither end a login nor inject a code.
func TestForeignRedirectsAreIgnored(t *testing.T) {
	f := setUp(t, oauthtest.Options{}).serves()
	err := f.login(func(link string) {
		back := f.Visit(link)
		u, _ := url.Parse(back)
		for _, redirect := range []string{
			"http://" + u.Host + "/callback?code=stolen&state=guessed",
			"http://" + u.Host + "/callback?error=access_denied", "http://" + u.Host + "/",
		} {
			if status := f.Follow(redirect); status/100 != 4 {
				t.Errorf("%s: status %d", redirect, status)
			}
		}
		f.Follow(back)
	})
	if err != nil {
		t.Fatal(err)
	}
	if token, err := f.token(""); err != nil || !f.accepted(token) {
		t.Errorf("the token is not accepted: %v", err)
	}
}

func TestLoginFails(t *testing.T) {
	for name, test := range map[string]struct {
		options oauthtest.Options
		want    string
	}{
		"denied":                  {oauthtest.Options{Deny: true}, "access_denied: the user said no"},
		"another issuer answers":  {oauthtest.Options{ForeignIssuer: true}, "another authorization server"},
		"issuer mismatch":         {oauthtest.Options{Issuer: "https://other.example"}, "of another one"},
		"another resource":        {oauthtest.Options{Resource: "https://other.example/mcp"}, "not for this server"},
		"registration is refused": {oauthtest.Options{NoRegistration: true}, "oauth.client_id"},
		"no PKCE":                 {oauthtest.Options{NoPKCE: true}, "PKCE"},
		"plain http":              {oauthtest.Options{AuthServer: "http://auth.example"}, "is not HTTPS"},
		"plain http for tokens":   {oauthtest.Options{Endpoint: "http://auth.example/token"}, "HTTPS"},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t, test.options)
			err := f.login(f.consent)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, kept := f.store.Read(f.Resource()); kept {
				t.Error("a login is kept")
			}
		})
	}
}

// A server on the internet cannot make settle send requests to the user's network.
func TestGuard(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.guarded("https://8.8.8.8/mcp").Do(r); err == nil ||
		!strings.Contains(err.Error(), "not a public address") {
		t.Errorf("of a public server: %v", err)
	}
	if r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "https://10.1.2.3/", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.guarded("https://8.8.8.8/mcp").Do(r); err == nil ||
		!strings.Contains(err.Error(), "not a public address") {
		t.Errorf("of a public server: %v", err)
	}
	if r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL, nil); err != nil {
		t.Fatal(err)
	}
	got, err := f.guarded("http://127.0.0.1:1/mcp").Do(r)
	if err != nil {
		t.Fatalf("of a server on this machine: %v", err)
	}
	_ = got.Body.Close()
}

func TestConfiguredClient(t *testing.T) {
	f := setUp(t, oauthtest.Options{Known: map[string]string{"me": "a secret: of me"}}).serves()
	known := func(l *oauth.Login) {
		l.ClientID, l.ClientSecret, l.Scopes = "me", "a secret: of me", []string{"mine"}
	}
	if err := f.login(f.consent); err == nil || !strings.Contains(err.Error(), "oauth.client_id") {
		t.Errorf("without a client: %v", err)
	}
	f.Change(func(o *oauthtest.Options) { o.Known = map[string]string{"me": ""} })
	if err := f.login(f.consent, known); err != nil {
		t.Fatal(err)
	}
	if e, _ := f.store.Read(f.Resource()); !slices.Equal(e.Scopes, []string{"mine", "offline_access"}) ||
		!slices.Contains(e.Secrets(), "a secret: of me") {
		t.Errorf("kept: %q", e.Scopes)
	}
}

// Refresh tokens rotate: each works once, for any number of concurrent requests.
func TestRefreshOnce(t *testing.T) {
	f := setUp(t, oauthtest.Options{}).serves()
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	old, err := f.token("")
	if err != nil {
		t.Fatal(err)
	}
	f.Expire(false)
	got := make([]string, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			token, err := f.token(old)
			if err != nil {
				t.Error(err)
			}
			got[i] = token
		})
	}
	wg.Wait()
	if n := f.Count("refresh"); n != 1 {
		t.Errorf("it was refreshed %d times", n)
	}
	if slices.Sort(got); got[0] != got[7] || got[0] == old || !f.accepted(got[0]) {
		t.Errorf("the tokens are %q, and were %q", got, old)
	}
}

func TestExpiredTokenIsRefreshed(t *testing.T) {
	f := setUp(t, oauthtest.Options{ExpiresIn: 1}).serves()
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	if token, err := f.token(""); err != nil || !f.accepted(token) || f.Count("refresh") != 1 {
		t.Errorf("%v, after %d refreshes", err, f.Count("refresh"))
	}
}

// An ended login is reported, and its useless token is deleted.
func TestLoginEnds(t *testing.T) {
	for name, o := range map[string]oauthtest.Options{
		"the refresh token expired": {},
		"there is none":             {NoRefresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t, o)
			if err := f.login(f.consent); err != nil {
				t.Fatal(err)
			}
			old, err := f.token("")
			if err != nil {
				t.Fatal(err)
			}
			f.Expire(true)
			_, err = f.token(old)
			if _, ok := errors.AsType[*oauth.LoginError](err); !ok {
				t.Errorf("got %v", err)
			}
			if e, ok := f.store.Read(f.Resource()); !ok || e.Access != "" || e.Refresh != "" {
				t.Error("the tokens are kept, or it is forgotten that a login is needed")
			}
		})
	}
}

// A server that is unavailable does not end a login.
func TestRefreshFailsForNow(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	old, _ := f.token("")
	f.Close()
	if _, err := f.token(old); err == nil {
		t.Error("there is no error")
	} else if _, ended := errors.AsType[*oauth.LoginError](err); ended {
		t.Errorf("got %v", err)
	}
	if e, _ := f.store.Read(f.Resource()); e.Refresh == "" {
		t.Error("the refresh token is gone")
	}
}

func TestLogout(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	had, err := f.tokens().Logout(t.Context(), f.Resource())
	if !had || err != nil || f.Count("revoke") != 1 {
		t.Errorf("Logout = %v, %v; revoked %d times", had, err, f.Count("revoke"))
	}
	if _, ok := f.store.Read(f.Resource()); ok {
		t.Error("the login is kept")
	}
	if had, err := f.tokens().Logout(t.Context(), f.Resource()); had || err != nil {
		t.Errorf("the second: %v, %v", had, err)
	}
}

// A login that times out and a login that is cancelled leave nothing; TestMain checks that
// the port is closed.
func TestLoginTimesOut(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := f.store.Login(ctx, &oauth.Login{
		URL: f.Resource(), Ask: f.ask, Client: f.guarded(f.Resource()),
		Show: func(string) { cancel(why) },
	})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	err = f.login(func(string) {}, func(l *oauth.Login) { l.Timeout = time.Millisecond })
	if err == nil || !strings.Contains(err.Error(), "no login within") {
		t.Errorf("got %v", err)
	}
	if _, kept := f.store.Read(f.Resource()); kept {
		t.Error("a login is kept")
	}
}

// The next login requests the scopes whose absence refused a call.
func TestScopesAddUp(t *testing.T) {
	f := setUp(t, oauthtest.Options{Scope: "a"})
	if err := f.tokens().Refused(t.Context(), f.Resource(),
		[]string{`Bearer error="insufficient_scope", scope="b"`}); err != nil {
		t.Fatal(err)
	}
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	if e, _ := f.store.Read(f.Resource()); !slices.Equal(e.Scopes, []string{"a", "b", "offline_access"}) {
		t.Errorf("the scopes are %q", e.Scopes)
	}
}

// A damaged file is not a login.
func TestDamagedFile(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(f.dir, "*", "*.json"))
	if len(files) != 1 {
		t.Fatalf("the files are %q", files)
	}
	foreign, err := json.Marshal(map[string]string{"url": "https://other.example", "access_token": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "{", string(foreign)} {
		if err := os.WriteFile(files[0], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if token, err := f.token(""); token != "" || err != nil {
			t.Errorf("of %q: %q, %v", content, token, err)
		}
	}
}

// TestLoginAtAServerThatRedirectsToItself: the login fails after a few requests.
func TestLoginAtAServerThatRedirectsToItself(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	f := setUp(t, oauthtest.Options{})
	if err := f.login(f.consent, func(l *oauth.Login) {
		l.URL, l.Client = server.URL,
			f.guarded(server.URL)
	}); err == nil {
		t.Error("logged in")
	}
	if n := asked.Load(); n == 0 || n > 60 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestTokensInAForm: some servers answer with a form and refuse with status 200.
func TestTokensInAForm(t *testing.T) {
	f := setUp(t, oauthtest.Options{Form: true, ExpiresIn: 3600}).serves()
	if err := f.login(f.consent); err != nil {
		t.Fatal(err)
	}
	old, err := f.token("")
	if err != nil || !f.accepted(old) {
		t.Fatalf("the token is not accepted: %v", err)
	}
	f.Expire(false)
	if token, err := f.token(old); err != nil || !f.accepted(token) {
		t.Fatalf("the refreshed token is not accepted: %v", err)
	}
	f.Expire(true)
	if old, err = f.token(""); err != nil {
		t.Fatal(err)
	}
	_, err = f.token(old)
	if _, ended := errors.AsType[*oauth.LoginError](err); !ended {
		t.Errorf("after a refusal with status 200: %v", err)
	}
}

// record is a transport that records the paths of requests.
type record struct {
	http.RoundTripper

	mu    sync.Mutex
	paths []string
}

func (r *record) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.paths = append(r.paths, q.URL.Path)
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(q)
}

// TestEveryRequestIsGuarded: discovery, registration, token requests, refreshes and
// revocations use the guarded client.
func TestEveryRequestIsGuarded(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	guarded := &record{RoundTripper: f.guarded(f.Resource()).Transport}
	client := &http.Client{Transport: guarded}
	if err := f.login(f.consent, func(l *oauth.Login) { l.Client = client }); err != nil {
		t.Fatal(err)
	}
	tokens := f.tokens()
	tokens.Client = func(string) *http.Client { return client }
	old, err := tokens.Token(t.Context(), f.Resource(), "")
	if err == nil {
		_, err = tokens.Token(t.Context(), f.Resource(), old)
	}
	if err == nil {
		_, err = tokens.Logout(t.Context(), f.Resource())
	}
	want := []string{
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/register", "/token",
		"/token", "/revoke",
	}
	if err != nil || !slices.Equal(guarded.paths, want) {
		t.Errorf("%v; requests of the guarded client: %q, want %q", err, guarded.paths, want)
	}
}

// TestRegistrationAnswers: unused fields of a registration have no effect, and no error
// contains a secret from an unreadable answer (C15).
func TestRegistrationAnswers(t *testing.T) {
	f := setUp(t, oauthtest.Options{Registered: map[string]any{
		"jwks":                map[string]any{"keys": []any{}},
		"client_id_issued_at": "2026-11-24",
	}})
	if err := f.login(f.consent); err != nil {
		t.Errorf("with a set of keys: %v", err)
	}
	f.Change(func(o *oauthtest.Options) {
		o.Registered = map[string]any{"client_id": 7, "client_secret": "S3CRET-of-the-client"}
	})
	if err := f.login(f.consent); err == nil || strings.Contains(err.Error(), "S3CRET") {
		t.Errorf("with a number as the id: %v", err)
	}
}

// TestHugeChallenge: the time to read a challenge is linear in its length. With quadratic
// time, this test does not end.
func TestHugeChallenge(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	if err := f.tokens().Refused(t.Context(), f.Resource(),
		[]string{"Bearer " + strings.Repeat(",", 8<<20)}); err != nil {
		t.Error(err)
	}
}

// TestIssuerWithASlash: an issuer can end with a slash; the path of its metadata has no
// slash.
func TestIssuerWithASlash(t *testing.T) {
	f := setUp(t, oauthtest.Options{})
	f.Change(func(o *oauthtest.Options) { o.AuthServer = f.URL + "/" })
	if err := f.login(f.consent); err != nil {
		t.Error(err)
	}
}

// TestForgedAnswers: only bearer tokens are stored.
func TestForgedAnswers(t *testing.T) {
	for name, body := range map[string]string{
		"another type": `{"access_token":"a","token_type":"mac"}`,
		"a line break": `{"access_token":"a\r\nX-Evil: 1","token_type":"bearer"}`,
		"none":         `{"token_type":"bearer"}`, "no JSON": `<html>`, "another form": `[1]`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			}))
			defer server.Close()
			f := setUp(t, oauthtest.Options{})
			f.Change(func(o *oauthtest.Options) { o.Endpoint = server.URL + "/token" })
			if err := f.login(f.consent); err == nil || !strings.Contains(err.Error(), "gave no token") {
				t.Errorf("got %v", err)
			}
			if _, kept := f.store.Read(f.Resource()); kept {
				t.Error("a login is kept")
			}
		})
	}
}

// TestPrintableLink: the link cannot change the display of a terminal.
func TestPrintableLink(t *testing.T) {
	f := setUp(t, oauthtest.Options{Authorize: "https://auth.example/a\u202eb\u009b31m/?q=\u202e\u009b&state=x#\u202e"})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := f.store.Login(ctx, &oauth.Login{
		URL: f.Resource(), Ask: f.ask, Client: f.guarded(f.Resource()),
		Show: func(link string) {
			if strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("the link is %q", link)
			}
			cancel(why)
		},
	})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
