// Package rpc is what the faces share that serve one client over JSON-RPC at
// standard streams: its connection, the order in which its requests are served,
// what is done beside that, and the end of it all.
//
//	client ──► Handler of the face ──► Dispatch ──► a lane for each session, in order
//	                                                    │ Method: answers, or returns an error
//	stop, end of input, nobody reads ─► stdio.Shutdown ─► lanes and other work end ─► connection
//
// What must keep its order among all messages, such as a cancel, a face does in its
// Handler, before it dispatches. A lane may wait for a session; it does not wait for
// a client that reads slowly, which work beside it (Go) does.
package rpc
