// Package keymap has the keys of the terminal: which action a key has, by a preset and the user's
// own keys.
//
//	preset (default, vi, claude, codex) ─┐
//	                                     ├─► Map: key ─► action, action ─► keys
//	keys of [terminal.keys] ─────────────┘
//
// Package config reads [terminal.keys] and reports errors; package tui asks the Map for the action
// of each key. Package terminal defines the names of keys, such as "ctrl+t".
//
// Files:
//
//   - actions.go: the actions, with the keys of each preset
//   - keymap.go: a Map, and how the user's keys change a preset
//   - key.go: the names of keys, as people write and read them
package keymap
