// Package oauth logs in to MCP servers over HTTP that require it, and keeps their tokens.
//
//	401 ─► metadata of the resource (RFC 9728) ─► metadata of its authorization server
//	       (RFC 8414, OpenID) ─► client: configured, or registered (RFC 7591)
//	    ─► link for a person, with PKCE (S256), state and resource (RFC 8707)
//	    ─► redirect to 127.0.0.1, or the pasted address ─► tokens, in a file
//
//	      login                 expired, or refused with 401
//	none ───────► tokens ──────────────────────────────────► refreshed, by one
//	 ▲                │ the refresh is refused; logout        process at a time
//	 └── needed ◄─────┘
//
// Only [Store.Login] waits for a person. [Tokens] never waits: if a login is needed, it
// returns a [*LoginError]. The [Guard] refuses plain and private addresses from metadata,
// unless the server itself has such an address.
//
// Read login.go first, then tokens.go. Requests for tokens use package oauth2; tool/mcp
// decides when to log in.
//
// Other files:
//
//   - discover.go: finds the authorization server
//   - request.go: requests for tokens
//   - landing.go: the local page after the login
//   - store.go: where logins are kept, when they expire
//   - guard.go: keeps requests out of private networks
package oauth
