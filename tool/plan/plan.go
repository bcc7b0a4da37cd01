package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/settle-agent/settle/tool"
)

// Name is the tool's name.
const Name = "plan"

// Status is the state of a step.
type Status string

// The states of a step, as Codex and the Agent Client Protocol name them.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// Step is one step of a plan.
type Step struct {
	Step   string `json:"step"`
	Status Status `json:"status"`
}

// Arguments are the arguments of the tool.
type Arguments struct {
	Explanation string `json:"explanation,omitempty"`
	Plan        []Step `json:"plan"`
}

// maxSteps and maxStep, in bytes, bound a plan, because every frontend shows it and a
// compaction keeps it.
const (
	maxSteps = 100
	maxStep  = 1000
)

var schema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"explanation": {"type": "string"},
		"plan": {
			"type": "array",
			"description": "All steps, in order.",
			"items": {
				"type": "object",
				"properties": {
					"step": {"type": "string", "description": "One short sentence."},
					"status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
				},
				"required": ["step", "status"],
				"additionalProperties": false
			}
		}
	},
	"required": ["plan"],
	"additionalProperties": false
}`)
})

// New returns the tool, which all sessions share.
func New() tool.Tool { return shared() }

var shared = sync.OnceValue(func() tool.Tool {
	return tool.Must(
		tool.New(
			Name,
			"Shows the user your plan and your progress, for work of several steps. Each call replaces the whole plan. "+
				"At most one step is in_progress; call again when a step is done or the plan changes.",
			show,
			schema(),
			tool.ReadOnly(),
			tool.WithTitle(Arguments.Title),
		),
	)
})

// Title describes the progress in one line.
func (a Arguments) Title() string {
	done, current := 0, ""
	for _, s := range a.Plan {
		switch s.Status {
		case Completed:
			done++
		case InProgress:
			current = ": " + s.Step
		}
	}
	return fmt.Sprintf("plan, %d of %d done%s", done, len(a.Plan), current)
}

// Mark is the state of the step as one character.
func (s Step) Mark() string {
	switch s.Status {
	case Completed:
		return "☑"
	case InProgress:
		return "▸"
	}
	return "☐"
}

func show(_ context.Context, in Arguments) (string, error) {
	if err := in.check(); err != nil {
		return "", err
	}
	return "The plan is shown.", nil
}

func (a Arguments) check() error {
	if len(a.Plan) > maxSteps {
		return fmt.Errorf("the plan has %d steps; at most %d are possible: join some of them", len(a.Plan), maxSteps)
	}
	running := 0
	for n, s := range a.Plan {
		switch {
		case strings.TrimSpace(s.Step) == "":
			return fmt.Errorf("step %d says nothing", n+1)
		case len(s.Step) > maxStep:
			return fmt.Errorf("step %d has %d bytes, the limit is %d: write one sentence", n+1, len(s.Step), maxStep)
		case s.Status == InProgress:
			running++
		}
	}
	if running > 1 {
		return errors.New("several steps are in_progress; at most one can be")
	}
	return nil
}
