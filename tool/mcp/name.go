package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxName is the maximum length of a tool's name for all providers.
const maxName = 64

// Separator separates a server's name and its tool's name.
const Separator = "__"

// toolName returns the model's name of a server's tool.
func toolName(server, tool string) string {
	return fitted(valid(server)+Separator+valid(tool), server, tool)
}

// apart returns another name for a tool whose name is taken.
func apart(server, tool string) string {
	return suffixed(valid(server)+Separator+valid(tool), server, tool)
}

// freeName takes a name for a server's tool or prompt. If the name is taken, it returns
// another one and a note; if that is also taken, the name is empty.
func freeName(server, kind, its string, taken map[string]bool) (name, note string) {
	name = toolName(server, its)
	if taken[name] {
		alternative := apart(server, its)
		if taken[alternative] {
			return "", fmt.Sprintf("mcp.%s: the %s %q is left out, since it is there twice", server, kind,
				clip(its, maxName))
		}
		note = fmt.Sprintf("mcp.%s: the %s %q is called %s, since there is another %s", server, kind,
			clip(its, maxName), alternative, name)
		name = alternative
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

// fitted returns the name, cut to the maximum length.
func fitted(name, server, tool string) string {
	if len(name) <= maxName {
		return name
	}
	return suffixed(name, server, tool)
}

// suffixed returns the name with a suffix that depends only on the server and the tool.
func suffixed(name, server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}
