package mcp

import "github.com/settle-agent/settle/internal/bound"

// clip cuts s to at most limit bytes, at a rune, and marks the cut.
func clip(s string, limit int) string { return bound.Clip(s, limit) }
