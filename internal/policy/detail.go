package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

// Commands is the Detail of a call of shell.
type Commands struct {
	Command string `json:"command"` // the whole text, at most 16 KiB
	Workdir string `json:"workdir,omitempty"`
	// Commands are what it does, one by one, at most 50.
	Commands []Command `json:"commands"`
	// Cut says that something was left out.
	Cut bool `json:"cut,omitempty"`
}

// Command is a simple command, a redirection, or what cannot be judged.
type Command struct {
	Text     string   `json:"text"`
	Decision Decision `json:"decision"`
	Rule     string   `json:"rule,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// Preview is the Detail of a call that changes files where the change cannot
// be shown.
type Preview struct {
	Files []file.Change `json:"files"`
	// Error is why the call would fail.
	Error string `json:"error,omitempty"`
}

const (
	maxCommand = 16 << 10
	maxShown   = 50
	// previewTimeout bounds the work of showing a change.
	previewTimeout = 2 * time.Second
)

// detail is what a face shows of a call that is asked about.
func (a act) detail(verdicts []verdict) json.RawMessage {
	var value any
	switch {
	case a.Tool == "shell":
		value = a.commands(verdicts)
	case slices.Contains(editors(), a.Tool):
		return a.preview()
	default:
		return nil
	}
	return encoded(value)
}

func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil // strings: it cannot fail
	}
	return raw
}

func (a act) commands(verdicts []verdict) Commands {
	c := Commands{Command: a.Command, Workdir: a.Workdir}
	if len(c.Command) > maxCommand {
		c.Command, c.Cut = strings.ToValidUTF8(c.Command[:maxCommand], ""), true
	}
	for i, d := range a.deeds {
		if d.starts && verdicts[i].Decision == Allow {
			continue // what it starts is in the list
		}
		if len(c.Commands) == maxShown {
			c.Cut = true
			break
		}
		one := Command{Text: d.text, Decision: verdicts[i].Decision, Rule: verdicts[i].rule}
		if one.Decision != Allow {
			one.Why = clip(oneLine(verdicts[i].why))
		}
		c.Commands = append(c.Commands, one)
	}
	return c
}

// preview shows the change, but not what is in files with secrets.
func (a act) preview() json.RawMessage {
	hides := false
	p := Preview{Files: []file.Change{}}
	for _, d := range a.deeds {
		hides = hides || d.kind != writes || d.place.secret()
		p.Files = append(p.Files, file.Change{Path: d.place.String(), Kind: "update", Cut: true})
	}
	if hides {
		return encoded(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), previewTimeout)
	defer cancel()
	raw, err := file.Preview(ctx, tool.Call{Name: a.Tool, Args: a.Arguments, Dir: a.ground.dir})
	if err != nil {
		p.Error = clip(err.Error())
		return encoded(p)
	}
	return raw
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
