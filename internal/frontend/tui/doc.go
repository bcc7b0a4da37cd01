// Package tui is the way in for a person at a terminal: settle without arguments.
//
//	session ─ events ─► transcript ─► printout ─► entries ─► rows, committed once
//	                         │                                  │
//	                         └─► state ─► live region ──────────┴─► terminal.Screen
//	keys ─► editor, commands ─► Submit, Interrupt, Answer, Drop
//
// An entry is a part of the log that will not change any more, and a function
// of the width only. It is committed to the scrollback in the order of the log, once;
// what is above the live region is therefore the rendering of the log. What
// still changes (the block of text that grows, calls that run, the queue, a
// question, the editor) is in the live region below.
//
// One goroutine owns everything here: Face.Run. Events of the session, keys,
// signals and answers come to it as functions that it calls. What it shows goes to a goroutine
// of its own, so that a slow terminal does not delay a key; while that writes, frames are
// left out. A key means what was on the screen: it interrupts the turn that was shown, and
// no other.
package tui
