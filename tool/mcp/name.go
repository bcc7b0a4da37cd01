package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool that providers accept.
const maxName = 64

// Separator is between a server's name and its tool's.
const Separator = "__"

// toolName is what models call a server's tool.
func toolName(server, tool string) string {
	return fitted(valid(server)+Separator+valid(tool), server, tool)
}

// apart is the name of a tool whose own is taken.
func apart(server, tool string) string {
	return suffixed(valid(server)+Separator+valid(tool), server, tool)
}

// valid replaces each character that providers refuse.
func valid(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// fitted is the name, cut if it is too long.
func fitted(name, server, tool string) string {
	if len(name) <= maxName {
		return name
	}
	return suffixed(name, server, tool)
}

// suffixed is the name with a part of its own, which depends on nothing but what
// it stands for.
func suffixed(name, server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}
