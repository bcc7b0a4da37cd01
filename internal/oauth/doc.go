// Package oauth logs in to servers that ask for it, and keeps what they give: the
// tokens of MCP servers that are reached over HTTP.
//
//	401 ─► metadata of the resource (RFC 9728) ─► of its authorization server
//	       (RFC 8414, OpenID) ─► client: configured, or registered (RFC 7591)
//	    ─► link for a person, with PKCE (S256), state and resource (RFC 8707)
//	    ─► redirect to 127.0.0.1, or the address pasted ─► tokens, in a file
//
//	      login                 expired, or refused with 401
//	none ───────► tokens ──────────────────────────────────► refreshed, by one
//	 ▲                │ the refresh is refused; logout        process at a time
//	 └── needed ◄─────┘
//
// Only [Store.Login] waits for a person. [Tokens] never does: where a login is
// needed, it says so. Nothing of metadata is believed that leads to a plain or
// private address, unless the server itself is at such a one.
package oauth
