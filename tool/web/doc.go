// Package web lets models read pages of the web, and search it.
//
//	url ─► check ─► dial: only public addresses (internal/egress) ─► body, in bounds
//	                                                                   │
//	       page of the text ◄── Markdown ◄── HTML ◄── characters ◄─────┘
//
// A fetch is one GET without cookies or credentials. Redirects on the same host are
// followed, each with a connection of its own; one to another host is told to the
// model, so that what was allowed for a host stays with it. No script runs. What a page
// says is the words of whoever wrote it, and is marked so.
//
// A search is made by the model's provider ([tool.SearcherOf]), or by a command of
// the user's; this package owns what the model is told of what was found.
package web
