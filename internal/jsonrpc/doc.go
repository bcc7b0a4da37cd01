// Package jsonrpc carries JSON-RPC messages, one on a line, between settle and
// the program that drives it.
//
//	In ──► reader ──► Handler.Handle, in the order of arrival
//	                  Call's waiter, for answers
//	Notify, Reply, Fail, Call ──► queue ──► writer ──► Out
//
// What comes in is handed on by one goroutine, in order: a cancel that was
// written right after its request arrives right after it. What goes out keeps
// the order in which it was said: an update that came before an answer arrives
// before it.
//
// Everything is bounded: the length of a message, the requests that are open,
// and what waits to be written. Notify and Call wait for room; answers never
// do, and a peer that goes on asking but does not read loses its connection.
//
// All that decides about a connection's life is in one state, changed in one
// function (Conn.update), which alone says when the connection is done:
//
//	open ──► no more input (its end, an error, Close)
//	             ──► requests answered, answers written ──► done
//	     ──► Out cannot be written, or nobody reads ──────► done
package jsonrpc
