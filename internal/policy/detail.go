package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

// Commands is the Detail of a call of shell: its commands, one by one.
type Commands struct {
	Commands []Command `json:"commands"`
}

// Command is a simple command, or text that the policy cannot judge.
type Command struct {
	Text     string           `json:"text"`
	Decision event.Permission `json:"decision"`
	Rule     string           `json:"rule,omitempty"`
	// Why has the reasons for an approval, joined.
	Why string `json:"why,omitempty"`
}

// Preview is the Detail of a call that changes files, if the change cannot be shown.
type Preview struct {
	Files []file.Change `json:"files"`
	// Error is the error with which the call would fail.
	Error string `json:"error,omitempty"`
}

const (
	// maxCommand bounds an approved command, because the approval shows all of it.
	maxCommand = 32 << 10
	// previewTimeout bounds the computation of a change.
	previewTimeout = 2 * time.Second
	// maxLine bounds a reason in bytes.
	maxLine = 300
)

// detail is the frontends' view of a call that needs an approval.
func (c toolCall) detail(verdicts []verdict) json.RawMessage {
	var shown any
	switch {
	case c.tool == "shell" || slices.ContainsFunc(c.effects, func(e effect) bool { return e.kind == starts }):
		shown = c.commands(verdicts)
	case isEditor(c.tool):
		shown = c.preview()
	default:
		return nil
	}
	raw, _ := json.Marshal(shown) // strings or JSON: Marshal cannot fail
	return raw
}

func (c toolCall) commands(verdicts []verdict) (d Commands) {
	for i, e := range c.effects {
		shown := Command{Text: e.text, Decision: verdicts[i].Permission, Rule: verdicts[i].rule}
		if shown.Decision != event.Allow {
			reasons := []string{verdicts[i].why}
			for _, part := range e.parts {
				if part.why != "" && !slices.Contains(reasons, part.why) {
					reasons = append(reasons, part.why)
				}
			}
			shown.Why = clip(strings.Join(reasons, "; "))
		}
		d.Commands = append(d.Commands, shown)
	}
	return d
}

// preview shows the change, except the content of files with secrets.
func (c toolCall) preview() any {
	hides, p := false, Preview{Files: []file.Change{}}
	for _, e := range c.effects {
		hides = hides || e.kind != effects.Writes || e.place.secret() || e.place.shared || c.workspace.remote
		p.Files = append(p.Files, file.Change{Path: e.place.path(), Kind: "update", Cut: true})
	}
	if hides {
		return p
	}
	ctx, cancel := context.WithTimeout(context.Background(), previewTimeout)
	defer cancel()
	raw, err := file.Preview(ctx, tool.Call{
		Name: c.tool, Args: json.RawMessage(c.raw), Dir: c.workspace.dir,
		Places: c.places,
	})
	if err != nil {
		p.Error = clip(err.Error())
		return p
	}
	return raw
}

// clip returns the beginning of a text in one line.
func clip(s string) string {
	return bound.Clip(strings.Join(strings.Fields(s), " "), maxLine)
}
