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
// live.go the live region, status.go the status row, complete.go completion; keys.go reads
// keys, command.go runs slash commands. plain.go is
// the frontend for screen readers.
//
// Events, keys, signals and answers reach the loop as functions that it calls. A second
// goroutine writes frames (writer.go), so that a slow terminal does not delay a key; frames
// are skipped while it writes. A key refers to the frame that the person saw: it interrupts
// the turn in that frame and no other. Package transcript decides which changes exist; this
// package decides how they look.
//
// Other files:
//
//   - exit.go: Ctrl-C (clears the editor, interrupts, quits), signals, the end
//   - interrupt.go: which turn Esc or Ctrl-C interrupts
//   - submit.go: Enter: sends, queues, or takes an input back
//   - history.go: Up and Down: prompts of all sessions, their file
//   - search.go: Ctrl-R: finds an earlier prompt
//   - editor.go: the text, its cursor, folded pastes
//   - external_editor.go: opens the text in $EDITOR
//   - vi.go: the modes and operators of vi in the editor
//   - vi_keys.go: turns vi on, and which keys it handles
//   - vi_motion.go: motions of vi and their ranges
//   - menu.go: a list of choices and its selected row
//   - menus.go: the choices of models, efforts, permissions, sessions
//   - command_set.go: the slash commands, settle's and the user's own
//   - foreign.go: names of commands of other agents
//   - fetch.go: the expansion of a prompt of an MCP server
//   - read_files.go: reads the files that an input names
//   - clipboard.go: pastes the image in the clipboard
//   - image.go: images whose path is in a prompt or pasted
//   - help.go: the texts of /help
//   - session_commands.go: commands about the session: its status, plan, agents, a review
//   - typed_answer.go: the text of an answer: a changed command, or what to do instead
//   - held.go: questions of calls that an earlier host left
//   - model_question.go: answers to the model's questions, one after the other
//   - welcome.go: the first rows
//   - status_line.go: the status row by the person's template or command
//   - setup.go: the questions of settle setup
//   - cost.go: /cost (which entries it has) and /timeline
//   - theme.go: /theme and its colors
//   - export.go: /export and the name of its file
//   - rewind.go: the list of inputs to go back to
//   - shell_command.go: a command after an exclamation mark
//   - session.go: the interfaces of sessions that the loop uses
//   - attached.go: a session that another process hosts
//   - detach.go: leaving a session in its host process
//   - background.go: requests that can block, outside of the loop
//   - feed.go: events that wait for the loop
//   - running_turn.go: shows a turn that ran before the view opened
//   - message_text.go: rows of long messages, in parts
//   - fold.go: one row for consecutive reads and searches
//   - diff.go: rows of changes to files
//   - discarded.go: committed text of an attempt that can still fail
//   - plan.go: plan mode, and the answers to a plan
//   - pager.go: a long text on the alternate screen, and the search in it
//   - sheet.go: what the pager shows: a session, a message, a call
//   - plain_form.go: forms for screen readers
//   - plain_command.go: their commands; which lines are refused
//   - memory.go: returns unused memory to the system; not the history
//
// What a key does is decided here; how a terminal's bytes become keys, in package terminal. Which
// requests and inputs are held or dropped is decided in package session.
package tui
