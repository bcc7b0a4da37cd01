package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

// Commands is the Detail of a call of shell, and has all of it. A command that
// is too long for that is refused.
type Commands struct {
	Command    string `json:"command"` // the whole text
	Workdir    string `json:"workdir,omitempty"`
	Background bool   `json:"background,omitempty"`
	Release    bool   `json:"release,omitempty"`
	TTY        bool   `json:"tty,omitempty"`
	// Commands are what it does, one by one.
	Commands []Command `json:"commands"`
}

// Command is a simple command, or what cannot be judged.
type Command struct {
	Text     string           `json:"text"`
	Decision event.Permission `json:"decision"`
	Rule     string           `json:"rule,omitempty"`
	Why      string           `json:"why,omitempty"`
	// Effects are the files that it is known to work on, and what else is to
	// be said of it.
	Effects []Effect `json:"effects,omitempty"`
}

// Effect is one thing that a command does.
type Effect struct {
	Kind string `json:"kind"` // "looks", "reads", "writes", or "hidden" for what cannot be known
	Path string `json:"path"`
	Why  string `json:"why,omitempty"` // to ask about it
}

// Preview is the Detail of a call that changes files where the change cannot
// be shown.
type Preview struct {
	Files []file.Change `json:"files"`
	// Error is why the call would fail.
	Error string `json:"error,omitempty"`
}

const (
	maxCommand = 32 << 10
	// previewTimeout bounds the work of showing a change.
	previewTimeout = 2 * time.Second
	// maxLine bounds what is shown of one reason, in bytes.
	maxLine = 300
)

// detail is what a face shows of a call that is asked about.
func (c call) detail(verdicts []verdict) json.RawMessage {
	switch {
	case c.tool == "shell":
		return encoded(c.commands(verdicts))
	case slices.Contains(editors(), c.tool):
		return c.preview()
	}
	return nil
}

func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil // strings: it cannot fail
	}
	return raw
}

func (c call) commands(verdicts []verdict) Commands {
	d := Commands{Command: c.Command, Workdir: c.Workdir, Background: c.Background, Release: c.Release, TTY: c.TTY}
	for i, e := range c.effects {
		one := Command{Text: e.text, Decision: verdicts[i].Permission, Rule: verdicts[i].rule}
		if one.Decision != event.Allow {
			one.Why = clip(oneLine(verdicts[i].why))
		}
		for _, part := range e.parts {
			shown := Effect{string(part.kind), part.text, clip(oneLine(part.why))}
			if part.kind != hidden {
				shown.Path = part.place.String()
			}
			if !slices.Contains(one.Effects, shown) && (part.kind != hidden || part.why != "") {
				one.Effects = append(one.Effects, shown)
			}
		}
		d.Commands = append(d.Commands, one)
	}
	return d
}

// preview shows the change, but not what is in files with secrets.
func (c call) preview() json.RawMessage {
	hides := false
	p := Preview{Files: []file.Change{}}
	for _, e := range c.effects {
		hides = hides || e.kind != writes || e.place.secret()
		p.Files = append(p.Files, file.Change{Path: e.place.String(), Kind: "update", Cut: true})
	}
	if hides {
		return encoded(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), previewTimeout)
	defer cancel()
	raw, err := file.Preview(ctx, tool.Call{Name: c.tool, Args: c.raw, Dir: c.ground.dir})
	if err != nil {
		p.Error = clip(err.Error())
		return encoded(p)
	}
	return raw
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(s string) string {
	if len(s) <= maxLine {
		return s
	}
	return strings.ToValidUTF8(s[:maxLine], "") + "…"
}
