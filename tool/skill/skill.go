package skill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/tool"
)

// Name is the tool's name.
const Name = "skill"

// Detail is that of a call that loaded a skill.
type Detail struct {
	Skill Loaded `json:"skill"`
}

// Loaded says which skill was loaded.
type Loaded struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

const schema = `{
	"type": "object",
	"properties": {
		"name": {"type": "string", "description": "The skill's name."},
		"arguments": {"type": "string", "description": "What to use it on, if it takes arguments."}
	},
	"required": ["name"],
	"additionalProperties": false
}`

// Load reads a skill as it is now, and returns what a model is told of it.
type Load func(name, arguments string) (text string, what Loaded, err error)

// New returns the tool.
func New(load Load) tool.Tool { return skillTool{load} }

type skillTool struct{ load Load }

// Spec implements tool.Tool.
func (skillTool) Spec() tool.Spec {
	return tool.Spec{
		Name: Name, Schema: json.RawMessage(schema), ReadOnly: true,
		Description: "Loads a skill: its instructions and the paths of its files. Call it before you start work that a skill covers, and again only if you no longer have the instructions.",
	}
}

type arguments struct{ Name, Arguments string }

// Title implements tool.Titler.
func (skillTool) Title(args json.RawMessage) string {
	var in arguments
	if json.Unmarshal(args, &in) != nil {
		return Name
	}
	return strings.TrimSpace("skill " + in.Name + " " + in.Arguments)
}

// Run implements tool.Tool.
func (t skillTool) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	var in arguments
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read the arguments: %w", err)
	}
	text, what, err := t.load(strings.TrimPrefix(strings.TrimSpace(in.Name), "/"), in.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	detail, err := json.Marshal(Detail{what})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Output: text, Detail: detail}, nil
}
