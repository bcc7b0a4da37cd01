package guard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/settle-agent/settle/internal/client/guard"
)

// Wrong guesses from an address lock out the guesser, and never a client with the token at the same
// address.
func TestGuessesLockOutNobodyElse(t *testing.T) {
	d := guard.NewAdmission("the-right-token", 1e-9, 100)
	ask := func(authorization string) guard.Entry {
		r := httptest.NewRequest(http.MethodGet, "/api/sessions", nil)
		r.Header.Set("Authorization", authorization)
		return d.Admit(r)
	}
	for n := range 200 {
		want := guard.Unknown
		if n >= 100/guard.WrongTokenCost {
			want = guard.TooMany
		}
		if got := ask("Bearer wrong"); got != want {
			t.Fatalf("guess %d: %s, want %s", n, got, want)
		}
	}
	for n := range 100 {
		if got := ask("bearer  the-right-token "); got != guard.Enter {
			t.Fatalf("request %d of the owner: %s", n, got)
		}
	}
	if got := ask("Bearer the-right-token"); got != guard.TooMany {
		t.Errorf("the owner has no limit: %s", got)
	}
	if got := d.Public(httptest.NewRequest(http.MethodGet, "/", nil)); got != guard.Enter {
		t.Errorf("the page: %s", got)
	}
}

// A token counts in the header, and nowhere else.
func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer  x ": "x", "": "", "Basic x": "", "Bearer": "", "Bearer ": "", "x": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/?token=q&access_token=q", nil)
		r.Header.Set("Cookie", "settle_80=c; token=c")
		r.Header.Set("Authorization", header)
		if got := guard.Bearer(r); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
