// Package demo shows the promise without a key and without a network: a model
// that follows a script drives the real engine, with real tools, real
// processes and a real log, in a directory of its own that is gone afterwards.
//
//	turn 1: text ─► two calls at once ─► a call that ignores TERM ─► interrupted
//	the log is closed and opened again
//	turn 2: the model is told what became of each call ─► completed
package demo
