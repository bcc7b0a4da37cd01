package skill

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/settle-agent/settle/tool"
)

// Name is the tool's name.
const Name = "skill"

// Detail is the Detail of a call that loaded a skill.
type Detail struct {
	Skill Loaded `json:"skill"`
}

// Loaded is the loaded skill.
type Loaded struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

var schema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"name": {"type": "string"},
		"arguments": {"type": "string", "description": "What to use it on, if it takes arguments."}
	},
	"required": ["name"],
	"additionalProperties": false
}`)
})

// Load reads the current version of a skill, and returns the model's text.
type Load func(name, arguments string) (text string, what Loaded, err error)

// New returns the tool.
func New(load Load) tool.Tool {
	return tool.Must(tool.New(
		Name,
		"Loads a skill: its instructions and the paths of its files. Call it before you start work that a skill covers, and again only if you no longer have the instructions.",
		load.run,
		schema(),
		tool.ReadOnly(),
		tool.WithTitle(arguments.title),
	))
}

type arguments struct{ Name, Arguments string }

// Title describes a call in one line, from its arguments; "" if they cannot be read.
func Title(args []byte) string {
	var in arguments
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return in.title()
}

func (in arguments) title() string { return strings.TrimSpace("skill " + in.Name + " " + in.Arguments) }

func (load Load) run(_ context.Context, in arguments) (tool.Result, error) {
	text, what, err := load(strings.TrimPrefix(strings.TrimSpace(in.Name), "/"), in.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	detail, err := json.Marshal(Detail{what})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Output: text, Detail: detail}, nil
}
