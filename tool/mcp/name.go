package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// freeName takes a name for what a server has under its own. If that is taken it is
// another one, and a note says so; if that is taken, too, it is empty.
func freeName(server, kind, its string, taken map[string]bool) (name, note string) {
	name = toolName(server, its)
	if taken[name] {
		other := apart(server, its)
		if taken[other] {
			return "", fmt.Sprintf("mcp.%s: the %s %q is left out, since it is there twice", server, kind, clip(its, maxName))
		}
		note = fmt.Sprintf("mcp.%s: the %s %q is called %s, since there is another %s", server, kind, clip(its, maxName), other, name)
		name = other
	}
	taken[name] = true
	return name, note
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
