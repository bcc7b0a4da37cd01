// Package mcp lets models call the tools of servers of the Model Context Protocol, each as
// SERVER__TOOL, and read their resources. People call the servers' prompts, each as
// SERVER__PROMPT.
//
//	configuration ─► Read: the known tools of each server ─► Offer, fixed
//	                   │ (catalogue files, no requests)            │
//	                   ▼                                           ▼
//	            Open: one link for each server ◄────────────── calls
//
// A session's first request waits for no server: its tools come from the catalogue of the
// last connection. A server without a catalogue starts in the background, and its tools are
// called through tool_search and tool_call, which are also used for the tools of a session
// with many.
//
//	       a call, or no catalogue
//	 idle ────────────────────────► starting ──► live ──┐ it died, flooded,
//	  ▲ ▲                               │ failed        │ or sent garbage
//	  │ └──────── later: backoff ◄──────┴───────────────┘
//	Close: ends all its processes (C7)
//
// A call is sent once (C5). A server's faults affect only its own calls: each has a time
// limit and an output limit, and fails with a reason if the server dies. Servers belong to
// the session, run under a supervisor, and end with the session.
//
// Read servers.go first, then link.go, which owns a server's state. offer.go selects tools;
// client.go speaks the protocol over stdio.go, http.go or relay.go; search.go finds tools;
// prompts.go and resources.go serve the rest. Package policy decides which calls run;
// package oauth logs in to servers.
//
// Other files:
//
//   - server.go: the configuration of a server, default timeouts
//   - state.go: the states of a server
//   - catalogue.go: a server's tools as kept for later sessions
//   - schema.go: tool schemas that providers accept
//   - name.go: names of tools for the model
//   - call.go: calls of a server's tool
//   - output.go: results as text; long ones as files
//   - filter.go: bounds on what a server sends
//   - elicit.go: forms that a server requests
//   - permit.go: which servers may start
//   - disable.go: servers that are switched off
//   - probe.go: settle mcp-servers: asks a server for its tools
//   - token.go: tokens for servers that need a login
//   - text.go: cuts text at a limit
package mcp
