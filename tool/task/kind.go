package task

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
)

// Kind is a kind of child agent that the user or the project defines. It only restricts: a
// child never has more rights than its parent.
type Kind struct {
	// Source names the definition, for the log.
	Source event.AgentSource
	// About is its purpose in one line, for the parent's model. Prompt is the end of the
	// child's system prompt.
	About, Prompt string
	// Model is another model than the parent's; "" for the parent's.
	Model string
	// Tools are the tools that the child can get, nil for all; Without are tools that it does
	// not get, also through a tool that calls them. A * matches any part of a name:
	// github__* are all tools of the MCP server github.
	Tools, Without []string
	// Permission is at least as strict as this; "" for the parent's.
	Permission event.Permission
	Budget     Budget
	// Background and Worktree are in force for each call, as if the call requested them.
	Background, Worktree bool
}

// Budget bounds each turn of a child; 0 for the parent's limits.
type Budget struct {
	Steps  int
	Tokens int64
	Cost   float64
	Time   time.Duration
}

// Name is the name by which a call requests the kind.
func (k Kind) Name() string { return k.Source.Name }

// All is the entry of Without for all tools.
const All = "*"

// Allowed returns the tools of a list that the kind allows, in its order.
func (k *Kind) Allowed(tools []string) []string {
	return slices.DeleteFunc(slices.Clone(tools), func(name string) bool {
		return k.Removes(name) || k.Tools != nil && !matches(k.Tools, name)
	})
}

// Removes reports whether the kind takes the tool away.
func (k *Kind) Removes(name string) bool {
	// opencode has one _ between a server and its tool.
	return matches(k.Without, name) || matches(k.Without, strings.Replace(name, "__", "_", 1))
}

// matches reports whether the name is one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		is, err := path.Match(pattern, name)
		return is && err == nil || pattern == name
	})
}

const (
	// maxKinds bounds the descriptions of all kinds in bytes, because every request has them.
	maxKinds = 2 << 10
	// maxKindAbout bounds one description, minKindAbout is the shortest that is still useful.
	maxKindAbout, minKindAbout = 200, 40
)

// property returns the property of the tool's schema by which a call chooses a kind.
func property(kinds []Kind) string {
	text := "Kind of agent."
	for limit := maxKindAbout; ; limit /= 2 {
		lines := ""
		for _, k := range kinds {
			lines += fmt.Sprintf(" %s: %s", k.Name(), strings.TrimSuffix(bound.Clip(k.About, limit), ".")+".")
		}
		if len(lines) <= maxKinds {
			text += lines
			break
		}
		if limit < minKindAbout { // the names alone
			break
		}
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name())
	}
	raw, _ := json.Marshal(map[string]any{"type": "string", "enum": names, "description": text}) // never fails
	return string(raw)
}

// find returns the kind of the name; nil for "".
func find(kinds []Kind, name string) (*Kind, error) {
	if name == "" {
		return nil, nil // the call requests no kind
	}
	for n := range kinds {
		if kinds[n].Name() == name {
			return &kinds[n], nil
		}
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name())
	}
	return nil, fmt.Errorf("there is no kind of agent %q; there are %s", name, strings.Join(names, ", "))
}
