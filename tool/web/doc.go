// Package web lets models read web pages and search the web.
//
//	url ─► check ─► dial: only public addresses (internal/egress) ─► body, bounded
//	                                                                   │
//	       page of the text ◄── Markdown ◄── HTML ◄── characters ◄─────┘
//
// A fetch is one GET without cookies or credentials. It follows redirects on the same host,
// each with a connection of its own; the model receives a redirect to another host as a
// result, so that the approval of a host covers only that host. No script runs. The text of
// a page is untrusted, and the result states this.
//
// The model's provider ([tool.SearcherOf]) or a command of the user searches; this package
// formats the results for the model.
//
// Read fetch.go first; search.go searches, charset.go and markdown.go convert pages.
// Package policy decides which hosts are fetched, package egress which addresses are
// reached.
//
// Other files:
//
//   - url.go: which addresses can be fetched
package web
