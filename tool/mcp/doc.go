// Package mcp lets models call the tools of servers of the Model Context
// Protocol, each as SERVER__TOOL, and read their resources. People call the servers'
// prompts, each as SERVER__PROMPT.
//
//	configuration ─► Read: what is known of each server's tools ─► Offer, frozen
//	                   │ (catalogue files, no server is asked)        │
//	                   ▼                                              ▼
//	            Open: one link for each server ◄───────────────── calls
//
// No server is waited for before a session's first request: its tools are those
// of the catalogue that it gave the last time. A server without one is started in
// the background, and its tools are reached through tool_search and tool_call,
// which also stand for the tools of a session that has many.
//
//	       a call, or no catalogue
//	 idle ────────────────────────► starting ──► live ──┐ it died, flooded,
//	  ▲ ▲                               │ failed        │ or sent garbage
//	  │ └──────── later: backoff ◄──────┴───────────────┘
//	Close: everything of it is ended (C7)
//
// A call is sent once (C5). What a server does wrong costs its own calls: each has
// a time limit and an output limit, and when the server dies, they fail and say so.
// Servers belong to the session, under a warden, and end with it.
package mcp
