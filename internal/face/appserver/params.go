package appserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/toolview"
)

// setup is what the requests have in common that open a thread.
type setup struct {
	Model                 string          `json:"model"`
	ModelProvider         string          `json:"modelProvider"`
	Cwd                   string          `json:"cwd"`
	ApprovalPolicy        json.RawMessage `json:"approvalPolicy"`
	Sandbox               string          `json:"sandbox"`
	Permissions           string          `json:"permissions"`
	Config                map[string]any  `json:"config"`
	BaseInstructions      *string         `json:"baseInstructions"`
	DeveloperInstructions string          `json:"developerInstructions"`
}

type startThread struct {
	setup
	Ephemeral bool `json:"ephemeral"`
}

type resumeThread struct {
	setup
	ThreadID     string `json:"threadId"`
	ExcludeTurns bool   `json:"excludeTurns"`
}

type startTurn struct {
	ThreadID       string          `json:"threadId"`
	ClientID       string          `json:"clientUserMessageId"`
	Input          []userInput     `json:"input"`
	Cwd            string          `json:"cwd"`
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	SandboxPolicy  *sandboxPolicy  `json:"sandboxPolicy"`
	Permissions    string          `json:"permissions"`
	Model          string          `json:"model"`
	Effort         string          `json:"effort"`
	OutputSchema   json.RawMessage `json:"outputSchema"`
}

type steerTurn struct {
	ThreadID       string      `json:"threadId"`
	ClientID       string      `json:"clientUserMessageId"`
	Input          []userInput `json:"input"`
	ExpectedTurnID string      `json:"expectedTurnId"`
}

type interruptTurn struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

type readThread struct {
	ThreadID     string `json:"threadId"`
	IncludeTurns bool   `json:"includeTurns"`
}

type listThreads struct {
	Cursor            string          `json:"cursor"`
	Limit             int             `json:"limit"`
	ExcludedThreadIDs []string        `json:"excludedThreadIds"`
	SortKey           string          `json:"sortKey"`
	SortDirection     string          `json:"sortDirection"`
	Archived          bool            `json:"archived"`
	Cwd               json.RawMessage `json:"cwd"` // a path, or several
	SearchTerm        string          `json:"searchTerm"`
}

type terminateJob struct {
	ThreadID  string `json:"threadId"`
	ProcessID string `json:"processId"`
}

// userInput is a part of what a user says.
type userInput struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URL  string `json:"url"`
	Path string `json:"path"`
	Name string `json:"name"`
}

// read returns what the user says as a text with images. Local files are as
// seen from the directory.
func read(parts []userInput, dir string) (text string, images []event.Image, err error) {
	var texts []string
	for n, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image":
			i, err := image.Decode(p.URL)
			if err != nil {
				return "", nil, invalid("input %d: %v", n+1, err)
			}
			images = append(images, i)
		case "localImage":
			i, err := image.Read(toolview.Absolute(dir, p.Path))
			if err != nil {
				return "", nil, invalid("input %d: %v", n+1, err)
			}
			images = append(images, i)
		case "mention", "skill":
			texts = append(texts, fmt.Sprintf("[@%s](%s)", p.Name, p.Path))
		default:
			return "", nil, invalid("input %d is of type %q, which settle does not take; it takes text, image, localImage and mention", n+1, p.Type)
		}
	}
	return strings.Join(texts, "\n"), images, nil
}

// directory checks a working directory that a client names.
func directory(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", invalid("the working directory %q is not absolute", path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", invalid("there is no directory %q to work in", path)
	}
	return filepath.Clean(path), nil
}
