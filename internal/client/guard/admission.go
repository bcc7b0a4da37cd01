package guard

import (
	"net/http"
	"strings"
	"time"
)

// Admission admits requests with a valid token. Requests with a token, requests without one, and
// readers of public files have separate rates, so that guesses of one program do not lock
// out others at the same address.
type Admission struct {
	token                  Digest
	known, strange, public *Rate
}

// NewAdmission returns an Admission that admits perSecond requests a second on average for each
// address, in bursts of at most burst.
func NewAdmission(token string, perSecond, burst float64) *Admission {
	rate := func() *Rate { return NewRate(perSecond, burst, time.Now) }
	return &Admission{token: DigestOf(token), known: rate(), strange: rate(), public: rate()}
}

// Entry is the decision about a request.
type Entry string

// The entries.
const (
	Enter   Entry = "enter"
	Unknown Entry = "unknown" // the token is missing or wrong
	TooMany Entry = "too many"
)

// Response texts of refused requests.
const (
	WrongHost       = "this server is not known by the name in the Host header; --allow-host makes it known by other names"
	OtherSite       = "the request comes from another site's page; nothing was done"
	TooManyRequests = "there are too many requests from your address; nothing was done; try again later"
)

// Admit decides whether the request may enter. A wrong token costs more than a missing one,
// because it may be a guess.
func (a *Admission) Admit(r *http.Request) Entry {
	from := Caller(r)
	token := Bearer(r)
	switch {
	case token != "" && a.token.Matches(token):
		if !a.known.Take(from, 1) {
			return TooMany
		}
		return Enter
	case token != "" && !a.strange.Take(from, WrongTokenCost), token == "" && !a.strange.Take(from, 1):
		return TooMany
	}
	return Unknown
}

// Public decides whether the request may read public files.
func (a *Admission) Public(r *http.Request) Entry {
	if !a.public.Take(Caller(r), 1) {
		return TooMany
	}
	return Enter
}

// Bearer returns the token in the request's header, or "". Tokens are accepted
// nowhere else: a query ends up in logs, and browsers send a cookie to every
// port of a host.
func Bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
