// Package setup lets a person choose the model that settle uses: it finds keys and local model
// servers, takes a key, makes a test request, and keeps the choice in the user's file.
//
//	provider ─► key ─► model ─► test request ─► config.Keep
//	    ▲        │       │            │
//	    └──Esc───┴───────┴────────────┘   Ctrl-C leaves; before Keep, nothing is written
//
// Start with flow.go, which has the steps. The questions are shown by an [Asker]: package tui has
// one that draws menus, and one that writes lines.
//
// Files:
//
//   - flow.go: the steps
//   - offer.go: what the person can choose from
//   - servers.go: servers on the usual ports of this machine
//
// Where the choice is written is decided in package config.
package setup
