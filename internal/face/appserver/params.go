package appserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/repo"
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

// mostImage bounds the file of an image in bytes.
const mostImage = 32 << 20

// read returns what the user says as a text with images. Local files are as
// seen from the directory.
func read(parts []userInput, dir string) (text string, images []event.Image, err error) {
	var texts []string
	for n, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image":
			i, err := fromURL(p.URL)
			if err != nil {
				return "", nil, invalid("input %d: %v", n+1, err)
			}
			images = append(images, i)
		case "localImage":
			i, err := fromFile(toolview.Absolute(dir, p.Path))
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

// fromURL reads an image of a data URL. Others are not fetched.
func fromURL(url string) (event.Image, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	if !ok || !strings.HasPrefix(url, "data:") {
		return event.Image{}, fmt.Errorf("cannot fetch the image %.100q: send it as a data URL or a localImage", url)
	}
	kind, _, _ := strings.Cut(head, ";")
	if !strings.HasSuffix(head, ";base64") {
		return event.Image{}, fmt.Errorf("cannot read the image: its data URL is not base64")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return event.Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	return event.Image{MediaType: kind, Data: raw}, nil
}

func fromFile(path string) (event.Image, error) {
	raw, size, err := repo.ReadFile(path, mostImage)
	if err != nil {
		return event.Image{}, fmt.Errorf("cannot read the image: %w", err)
	}
	if size > mostImage {
		return event.Image{}, fmt.Errorf("cannot read the image %q: it has more than %d bytes", path, mostImage)
	}
	return event.Image{MediaType: http.DetectContentType(raw), Data: raw, Name: filepath.Base(path)}, nil
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
