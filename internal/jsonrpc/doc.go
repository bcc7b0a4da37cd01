// Package jsonrpc carries JSON-RPC messages, one per line, between settle and its
// client. Frontends decide what the messages mean; this package owns the connection.
// Read conn.go first.
//
//	In ──► reader ──► Handler.Handle, in the order of arrival
//	                  Call's waiter, for answers
//	Notify, Reply, Fail, Call ──► queue ──► writer ──► Out
//
// One goroutine passes incoming messages on, in order: a cancel that was written
// directly after its request arrives directly after it. Outgoing messages keep the order
// of the calls of Notify, Reply, Fail and Call: an update that precedes an answer
// arrives before it.
//
// The length of a message, the number of open requests and the write queue are bounded.
// Notify and Call wait for room; answers never wait. A peer that continues to send
// requests but does not read loses its connection.
//
// One state determines the life of a connection. One function, Conn.update, changes it
// and decides whether the connection is done:
//
//	open ──► no more input (its end, an error, Close)
//	             ──► requests answered, answers written ──► done
//	     ──► Out cannot be written, or the peer does not read ──────► done
//
// Other files:
//
//   - message.go: forms of messages
//   - read.go: reads messages of the peer
//   - write.go: the queue of messages
//   - request.go: requests of the peer, their answers
//   - call.go: requests to the peer
//   - error.go: error codes
//   - frame.go: lines that are too long
//   - lines.go: lines of bounded length
//   - append.go: escapes a line
package jsonrpc
