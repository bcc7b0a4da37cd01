package assemble

import (
	"context"
	"net/http"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/tool/mcp"
)

// tokens returns the tokens of MCP servers.
func (o *Options) tokens(learn func(secrets ...string)) *oauth.Tokens {
	return &oauth.Tokens{Store: oauth.NewStore(o.Settings.DataDir), Client: o.loginClient, Learn: learn}
}

// loginClient returns the HTTP client for the authorization server of the MCP server with
// the URL.
func (o Options) loginClient(server string) *http.Client {
	c := o.transport(config.Provider{})
	guard := &oauth.Guard{Server: server, Next: c.Proxy}
	c.Proxy, c.Dial = guard.Proxy, guard.DialContext
	return transport.NewClient(c)
}

// Login logs in to the MCP server. The caller sets the fields of l that communicate with
// the person.
func (o Options) Login(ctx context.Context, s *config.Server, l *oauth.Login) error {
	l.URL, l.Headers = s.URL, s.Headers
	if a := s.OAuth; a != nil {
		l.ClientID, l.ClientSecret, l.Scopes, l.RedirectPort = a.ClientID, a.ClientSecret, a.Scopes, a.RedirectPort
	}
	l.Ask, l.Client = o.serverClient([]mcp.Server{ServerOf(*s)}), o.loginClient(s.URL)
	return oauth.NewStore(o.Settings.DataDir).Login(ctx, l)
}

// Logout deletes the login to the MCP server; false if there was none.
func (o Options) Logout(ctx context.Context, url string) (had bool, err error) {
	return o.tokens(nil).Logout(ctx, url)
}

// LoginState is the state of the login to an MCP server.
type LoginState string

// The states.
const (
	// NoLogin: the server has not requested a login.
	NoLogin LoginState = ""
	// LoginNeeded: the server requires a login, and the person has not logged in.
	LoginNeeded LoginState = "needed"
	// LoggedIn: settle has tokens.
	LoggedIn LoginState = "logged in"
)

// loginState returns the state of the login to the server.
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
