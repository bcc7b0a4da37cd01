// Package tui is the frontend for a person at a terminal: settle without arguments.
//
//	session ─ events ─► transcript ─► printout ─► entries ─► rows, committed once
//	                         │                                  │
//	                         └─► state ─► live region ──────────┴─► terminal.Screen
//	keys ─► editor, commands ─► Submit, Interrupt, Answer, Drop
//
// An entry is a finished part of the log, whose rows depend only on the width. Each entry
// is committed to the scrollback once, in the order of the log; the rows above the live
// region are therefore a rendering of the log. The live region below has everything that
// still changes: growing text, running calls, waiting inputs, a question, the editor.
//
// Start with ui.go, whose loop owns all state. Its parts have a file each: display.go
// (frames), view.go (the open session), input.go (editor and completion), questions.go,
// interrupt.go, notify.go, exit.go. printout.go and entry.go make entries of changes,
// live.go the live region, status.go the status row, complete.go completion; keys.go reads keys, command.go runs slash commands. plain.go is
// the frontend for screen readers.
//
// Events, keys, signals and answers reach the loop as functions that it calls. A second
// goroutine writes frames (writer.go), so that a slow terminal does not delay a key; frames
// are skipped while it writes. A key refers to the frame that the person saw: it interrupts
// the turn in that frame and no other. Package transcript decides which changes exist; this
// package decides how they look.
package tui
