package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// redirecting is a server with its answers by path, and how often it was asked.
func redirecting(t *testing.T, elsewhere string) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/self", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/self", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/x?token=y", http.StatusPermanentRedirect)
	})
	mux.HandleFunc(
		"/get",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/end", http.StatusFound) },
	)
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method) })
	s := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); mux.ServeHTTP(w, r) }),
	)
	t.Cleanup(s.Close)
	return s, &asked
}

func TestRedirectsStayOnTheServer(t *testing.T) {
	var leaked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer other.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	for path, want := range map[string]struct {
		requests int64
		code     int
		err      string
	}{
		"/self": {1 + maxRedirects, http.StatusTemporaryRedirect, "6 times in a row"},
		"/away": {1, http.StatusPermanentRedirect, other.URL},
		"/get":  {1, http.StatusFound, "makes a GET of a POST"},
		"/here": {2, http.StatusOK, ""},
	} {
		t.Run(path, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				s, asked := redirecting(t, other.URL)
				client := SameServer(&http.Client{Transport: transport})
				if strict {
					client = SameServerOnly(&http.Client{Transport: transport})
				}
				answer, err := client.Post(s.URL+path, "text/plain", strings.NewReader("secret"))
				if answer != nil {
					_ = answer.Body.Close()
				}
				switch refused, ok := errors.AsType[*RedirectError](err); {
				case strict && want.err != "":
					if !ok || !strings.Contains(err.Error(), want.err) || strings.Contains(refused.Error(), "token") {
						t.Errorf("error %v", err)
					}
				case err != nil:
					t.Error(err)
				case answer.StatusCode != want.code:
					t.Errorf("status %d, want %d", answer.StatusCode, want.code)
				}
				if n := asked.Load(); n != want.requests {
					t.Errorf("%d requests, want %d", n, want.requests)
				}
			}
		})
	}
	if leaked.Load() > 0 {
		t.Error("another server was asked")
	}
}

// TestAClientsOwnRedirectPolicyStays: it can only bound further.
func TestAClientsOwnRedirectPolicyStays(t *testing.T) {
	s, asked := redirecting(t, "")
	own := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := SameServer(own).Post(s.URL+"/here", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusTemporaryRedirect || asked.Load() != 1 {
		t.Errorf("status %d after %d requests", answer.StatusCode, asked.Load())
	}
}
