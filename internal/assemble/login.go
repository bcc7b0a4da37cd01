package assemble

import (
	"context"
	"net/http"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/tool/mcp"
)

// tokens gives the tokens of MCP servers; nil if there is no place for them.
func (o Options) tokens(learn func(secrets ...string)) *oauth.Tokens {
	return &oauth.Tokens{Store: oauth.NewStore(o.Settings.DataDir), Client: o.loginClient, Learn: learn}
}

// loginClient asks the authorization server of the MCP server with the URL.
func (o Options) loginClient(server string) *http.Client {
	c := o.transport(config.Provider{})
	guard := &oauth.Guard{Server: server, Next: c.Proxy}
	c.Proxy, c.Dial = guard.Proxy, guard.DialContext
	return transport.NewClient(c)
}

// Login logs in to the MCP server. What there is to say, and to wait for, is the
// caller's part of l.
func (o Options) Login(ctx context.Context, s *config.Server, l *oauth.Login) error {
	l.URL, l.Headers = s.URL, s.Headers
	if a := s.OAuth; a != nil {
		l.ClientID, l.ClientSecret, l.Scopes, l.RedirectPort = a.ClientID, a.ClientSecret, a.Scopes, a.RedirectPort
	}
	l.Ask, l.Client = o.serverClient([]mcp.Server{ServerOf(*s)}), o.loginClient(s.URL)
	return oauth.NewStore(o.Settings.DataDir).Login(ctx, l)
}

// Logout forgets the login to the MCP server; false if there was none.
func (o Options) Logout(ctx context.Context, url string) (had bool, err error) {
	return o.tokens(nil).Logout(ctx, url)
}

// LoginState says whether somebody has logged in to an MCP server.
type LoginState string

// The states.
const (
	// NoLogin: the server has not asked for one.
	NoLogin LoginState = ""
	// LoginNeeded: it has, and there is none.
	LoginNeeded LoginState = "needed"
	// LoggedIn: there is one.
	LoggedIn LoginState = "logged in"
)

// loginState says whether somebody has logged in to the server.
func (o Options) loginState(s *config.Server) LoginState {
	if s.URL == "" {
		return NoLogin
	}
	switch e, ok := oauth.NewStore(o.Settings.DataDir).Read(s.URL); {
	case !ok:
		return NoLogin
	case e.Access == "":
		return LoginNeeded
	}
	return LoggedIn
}
