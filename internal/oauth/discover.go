package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// maxChallenge bounds the part of a challenge that is read, in bytes.
const maxChallenge = 16 << 10

// challenge is a server's demand for a login (RFC 6750, RFC 9728).
type challenge struct {
	metadata string // URL of the resource's metadata
	scopes   []string
	code     string
}

// parseChallenge reads the bearer challenges in the values of WWW-Authenticate and ignores
// everything that it cannot read.
func parseChallenge(values []string) *challenge {
	c := &challenge{}
	parameter := regexp.MustCompile(`[\s,](resource_metadata|scope|error)\s*=\s*(?:"([^"]*)"|([^\s",]+))`)
	for _, value := range values {
		value = value[:min(len(value), maxChallenge)]
		at := strings.Index(strings.ToLower(value), "bearer")
		if at < 0 {
			continue
		}
		for _, m := range parameter.FindAllStringSubmatch(value[at:], -1) {
			switch text := m[2] + m[3]; m[1] {
			case "resource_metadata":
				c.metadata = text
			case "scope":
				c.scopes = strings.Fields(text)
			case "error":
				c.code = text
			}
		}
	}
	return c
}

// NeedsScope reports whether an answer requires a login with more scopes.
func NeedsScope(answer *http.Response) bool {
	return answer.StatusCode == http.StatusForbidden &&
		parseChallenge(answer.Header["Www-Authenticate"]).code == "insufficient_scope"
}

// resource has the used fields of a server's metadata (RFC 9728, section 2).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// metadata has the used fields of an authorization server's metadata (RFC 8414, section 2;
// RFC 9207).
type metadata struct {
	Issuer     string   `json:"issuer"`
	Authorize  string   `json:"authorization_endpoint"`
	Token      string   `json:"token_endpoint"`
	Register   string   `json:"registration_endpoint"`
	Revoke     string   `json:"revocation_endpoint"`
	Scopes     []string `json:"scopes_supported"`
	Methods    []string `json:"token_endpoint_auth_methods_supported"`
	Challenges []string `json:"code_challenge_methods_supported"`
	IssuerSent bool     `json:"authorization_response_iss_parameter_supported"`
}

// place is the authorization server and resource of a login.
type place struct {
	resource resource
	meta     *metadata
}

// discover finds the authorization server of a server.
func discover(ctx context.Context, c *http.Client, server string, demand *challenge) (_ *place, err error) {
	at := &place{}
	if at.resource, err = findResource(ctx, c, server, demand.metadata); err != nil {
		return nil, err
	}
	issuer := at.resource.Servers[0]
	if at.meta, err = findServer(ctx, c, issuer); err != nil {
		return nil, fmt.Errorf("cannot use the authorization server %q: %w", terminal.Short(issuer, 200), err)
	}
	return at, nil
}

// findServer returns the metadata of an authorization server from the paths of RFC 8414 or
// OpenID.
func findServer(ctx context.Context, c *http.Client, issuer string) (m *metadata, err error) {
	m = &metadata{}
	if err := checkURL(issuer); err != nil {
		return m, err
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return m, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	found := false
	for _, at := range []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path, origin + path + "/.well-known/openid-configuration",
	} {
		if found, err = fetch(ctx, c, at, m); found || err != nil {
			break
		}
	}
	switch {
	case err != nil:
		return m, err
	case !found:
		return m, errors.New("it has no metadata, which logins need")
	case strings.TrimSuffix(m.Issuer, "/") != strings.TrimSuffix(issuer, "/"): // RFC 8414, section 3.3
		return m, fmt.Errorf("its metadata is of another one: %q", terminal.Short(m.Issuer, 200))
	case !slices.Contains(m.Challenges, "S256"):
		return m, errors.New("it does not support PKCE with S256, which logins need")
	}
	for _, endpoint := range []string{m.Authorize, m.Token, m.Register, m.Revoke} {
		if err := checkURL(endpoint); err != nil && (endpoint != "" || m.Authorize == "" || m.Token == "") {
			return m, fmt.Errorf("of its endpoints, %w", err)
		}
	}
	return m, nil
}

// findResource returns the server's metadata. A server older than 2025-06-18 has none and
// is its own authorization server.
func findResource(ctx context.Context, c *http.Client, server, named string) (resource, error) {
	u, err := url.Parse(server)
	if err != nil {
		return resource{}, errors.New("the server's url is not one of HTTP")
	}
	origin := url.URL{Scheme: u.Scheme, Host: u.Host}
	const wellKnown = "/.well-known/oauth-protected-resource"
	candidates := []string{
		origin.String() + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"),
		origin.String() + wellKnown,
	}
	if named != "" {
		candidates = []string{named}
	}
	for _, at := range slices.Compact(candidates) {
		var r resource
		found, err := fetch(ctx, c, at, &r)
		if err != nil {
			return resource{}, fmt.Errorf("cannot use the server's metadata for logins (%s): %w",
				terminal.Short(at, 200), err)
		}
		if !found {
			continue
		}
		if !covers(r.Resource, u) {
			return resource{}, fmt.Errorf("the metadata at %s is for %q, not for this server",
				terminal.Short(at, 200), terminal.Short(r.Resource, 200))
		}
		if len(r.Servers) == 0 {
			return resource{}, fmt.Errorf("the metadata at %s names no authorization server", terminal.Short(at, 200))
		}
		return r, nil
	}
	return resource{Resource: server, Servers: []string{origin.String()}}, nil
}

// fetch reads metadata; false if there is none.
func fetch(ctx context.Context, c *http.Client, at string, into any) (found bool, err error) {
	if err := checkURL(at); err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return false, err
	}
	raw, err := send(c, r)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.status/100 == 4 {
		return false, nil
	}
	if err == nil && json.Unmarshal(raw, into) != nil {
		err = errors.New("it is not the JSON that was asked for")
	}
	return err == nil, err
}

// covers reports whether metadata for the resource also applies to the server: both have
// the same origin, and the resource's path contains the server's path. (RFC 9728 requires
// equality; many servers name their origin.)
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Scheme != server.Scheme || !strings.EqualFold(r.Host, server.Host) {
		return false
	}
	return strings.HasPrefix(strings.TrimSuffix(server.Path, "/")+"/", strings.TrimSuffix(r.Path, "/")+"/")
}

// checkURL refuses URLs without https, except on this machine. The [Guard] decides which
// addresses can be reached.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q is no URL of HTTPS", terminal.Short(text, 200))
	}
	a, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && a.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("%q is not HTTPS", terminal.Short(text, 200))
}
