package appserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
)

// setup has the common parameters of the requests that open a thread.
type setup struct {
	codex.RequestedRights
	ThreadID              string         `json:"threadId"` // of the resumed thread
	Model                 string         `json:"model"`
	ModelProvider         string         `json:"modelProvider"`
	Cwd                   string         `json:"cwd"`
	Config                map[string]any `json:"config"`
	BaseInstructions      *string        `json:"baseInstructions"`
	DeveloperInstructions string         `json:"developerInstructions"`
	Ephemeral             bool           `json:"ephemeral"`
	ExcludeTurns          bool           `json:"excludeTurns"`

	// lastModel and lastEffort come from the thread's last turn, and apply if the client
	// names none.
	lastModel, lastEffort string
}

// text returns a text of the configuration that a client gives.
func (p setup) text(key string) string {
	s, _ := p.Config[key].(string)
	return s
}

// inputParams has the common parameters of the requests that send an input.
type inputParams struct {
	codex.RequestedRights
	ThreadID     string          `json:"threadId"`
	ClientID     string          `json:"clientUserMessageId"`
	Input        []userInput     `json:"input"`
	Cwd          string          `json:"cwd"`
	Model        string          `json:"model"`
	Effort       string          `json:"effort"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	// ExpectedTurnID is the turn to steer.
	ExpectedTurnID string `json:"expectedTurnId"`
}

// about has the parameters of a request about a thread.
type about struct {
	ThreadID     string `json:"threadId"`
	IncludeTurns bool   `json:"includeTurns"`
	TurnID       string `json:"turnId"`
	Name         string `json:"name"`
	ProcessID    string `json:"processId"`
}

type listThreads struct {
	Cursor            string   `json:"cursor"`
	Limit             int      `json:"limit"`
	ExcludedThreadIDs []string `json:"excludedThreadIds"`
	SortKey           string   `json:"sortKey"`
	SortDirection     string   `json:"sortDirection"`
	Archived          bool     `json:"archived"`
	Cwd               paths    `json:"cwd"`
	SearchTerm        string   `json:"searchTerm"`
}

// paths are a path, or several.
type paths []string

// UnmarshalJSON implements [json.Unmarshaler].
func (p *paths) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil && isGiven(raw) {
		*p = paths{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(p))
}

// userInput is a part of a user's input.
type userInput struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URL  string `json:"url"`
	Path string `json:"path"`
	Name string `json:"name"`
}

// read returns the input of the user as a text with images. Paths of local files are relative to
// the directory.
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
			return "", nil, invalid(
				"input %d is of type %q, which settle does not take; it takes text, image, localImage and mention", n+1,
				p.Type,
			)
		}
	}
	return strings.Join(texts, "\n"), images, nil
}

// isGiven reports whether a parameter that may be null was given.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
