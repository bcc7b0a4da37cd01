package egress

import (
	"fmt"
	"net/http"
)

// maxRedirects bounds the followed redirects of one request.
const maxRedirects = 5

// SameServer returns a copy of the client that follows a redirect only if the same
// request goes to the same server: same scheme and host, same method, at most five
// times. All clients of settle that carry credentials use it, since a redirect takes
// headers and bodies along. A redirect that the client does not follow is the answer.
//
// If the client has a CheckRedirect function, SameServer keeps it as a further bound.
func SameServer(c *http.Client) *http.Client {
	return withRedirects(c, func(*RedirectError) error { return http.ErrUseLastResponse })
}

// SameServerOnly is SameServer for code that reads answers of any status. A redirect
// that the client does not follow is a [*RedirectError].
func SameServerOnly(c *http.Client) *http.Client {
	return withRedirects(c, func(err *RedirectError) error { return err })
}

// AnyServer returns a copy of the client for public files, such as the list of releases, which
// their host keeps on other servers: it follows a GET to any server, at most five times and
// never from https to http. If the address has a user name or a password, it follows redirects
// as SameServer does.
func AnyServer(c *http.Client) *http.Client {
	out := *c
	out.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		err, first := sameServer(r, via), via[0].URL
		if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return &RedirectError{r.URL.Scheme + "://" + r.URL.Host, "it leads from https to " + r.URL.Scheme}
		}
		if err != nil && (first.User != nil || r.Method != http.MethodGet || len(via) > maxRedirects) {
			return err
		}
		return nil
	}
	return &out
}

// RedirectError is a redirect that was not followed.
type RedirectError struct {
	To  string // scheme and host
	Why string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server redirects to %s, which settle does not follow: %s", e.To, e.Why)
}

func withRedirects(c *http.Client, refuse func(*RedirectError) error) *http.Client {
	out, own := *c, c.CheckRedirect
	out.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if err := sameServer(r, via); err != nil {
			return refuse(err)
		}
		if own != nil {
			return own(r, via)
		}
		return nil
	}
	return &out
}

// sameServer returns why a redirect is not followed, or nil.
func sameServer(r *http.Request, via []*http.Request) *RedirectError {
	first, to := via[0], r.URL.Scheme+"://"+r.URL.Host
	switch {
	case r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host:
		return &RedirectError{to, "keys are not sent to another server; if it is the right one, configure its address"}
	case r.Method != first.Method:
		return &RedirectError{to, fmt.Sprintf("it makes a %s of a %s", r.Method, first.Method)}
	case len(via) > maxRedirects:
		return &RedirectError{to, fmt.Sprintf("it redirected %d times in a row", len(via))}
	}
	return nil
}
