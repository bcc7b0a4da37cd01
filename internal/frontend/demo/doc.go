// Package demo shows settle's guarantees without a key and without a network. A scripted
// model drives the real engine with real tools, processes and a real log, in a temporary
// directory. script.go has the model, demo.go the sequence.
//
//	turn 1: text ─► two calls at once ─► a call that ignores TERM ─► interrupted
//	the log is closed and opened again
//	turn 2: the model receives the outcome of each call ─► completed
package demo
