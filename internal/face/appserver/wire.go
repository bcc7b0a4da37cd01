package appserver

import (
	"encoding/json"

	"github.com/settle-agent/settle/tool/plan"
)

// The messages of the protocol, as far as settle has something to say in them.
// A pointer that is nil is null, as Codex has it; what Codex leaves out is
// left out.

// note is a notification.
type note struct {
	Method string
	Params any
}

// nothing is an empty answer.
type nothing struct{}

type thread struct {
	ID              string       `json:"id"`
	SessionID       string       `json:"sessionId"`
	ForkedFromID    *string      `json:"forkedFromId"`
	ParentThreadID  *string      `json:"parentThreadId"`
	Preview         string       `json:"preview"`
	Ephemeral       bool         `json:"ephemeral"`
	ProjectID       *string      `json:"projectId"`
	HistoryMode     string       `json:"historyMode"`
	ModelProvider   string       `json:"modelProvider"`
	Model           *string      `json:"model"`
	ReasoningEffort *string      `json:"reasoningEffort"`
	CreatedAt       int64        `json:"createdAt"` // seconds
	UpdatedAt       int64        `json:"updatedAt"`
	RecencyAt       *int64       `json:"recencyAt"`
	Status          threadStatus `json:"status"`
	Path            *string      `json:"path"`
	Cwd             string       `json:"cwd"`
	CLIVersion      string       `json:"cliVersion"`
	Originator      *string      `json:"originator"`
	Source          string       `json:"source"`
	ThreadSource    *string      `json:"threadSource"`
	AgentNickname   *string      `json:"agentNickname"`
	AgentRole       *string      `json:"agentRole"`
	GitInfo         *string      `json:"gitInfo"`
	Name            *string      `json:"name"`
	Turns           []turn       `json:"turns"`
}

// threadStatus is notLoaded, idle, systemError or active.
type threadStatus struct {
	Type        string    `json:"type"`
	ActiveFlags *[]string `json:"activeFlags,omitempty"` // of active alone
}

type turn struct {
	ID          string     `json:"id"`
	RootTurnID  string     `json:"rootTurnId"`
	Items       []any      `json:"items"`
	ItemsView   string     `json:"itemsView"` // notLoaded, summary or full
	Status      string     `json:"status"`    // inProgress, completed, interrupted or failed
	Error       *turnError `json:"error"`
	StartedAt   *int64     `json:"startedAt"` // seconds
	CompletedAt *int64     `json:"completedAt"`
	DurationMs  *int64     `json:"durationMs"`
}

type turnError struct {
	Message           string  `json:"message"`
	CodexErrorInfo    any     `json:"codexErrorInfo"` // a kind, or an object with one
	AdditionalDetails *string `json:"additionalDetails"`
	Misalignment      *string `json:"misalignment"`
}

// said is a part of what the user said: a text, or an image with its content.
type said struct {
	Type         string  `json:"type"`
	Text         *string `json:"text,omitempty"`
	TextElements *[]any  `json:"text_elements,omitempty"`
	URL          string  `json:"url,omitempty"`
}

type userMessage struct {
	Type     string  `json:"type"`
	ID       string  `json:"id"`
	ClientID *string `json:"clientId"`
	Content  []said  `json:"content"`
}

type agentMessage struct {
	Type           string  `json:"type"`
	ID             string  `json:"id"`
	Text           string  `json:"text"`
	Phase          *string `json:"phase"`
	MemoryCitation *string `json:"memoryCitation"`
	Moderation     *string `json:"moderation"`
	Delivery       *string `json:"delivery"`
	Questions      []any   `json:"questions"`
}

type reasoning struct {
	Type    string   `json:"type"`
	ID      string   `json:"id"`
	Summary []string `json:"summary"`
	Content []string `json:"content"`
}

type commandExecution struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	PluginID         *string         `json:"pluginId"`
	ScriptPath       *string         `json:"scriptPath"`
	Command          string          `json:"command"`
	Cwd              string          `json:"cwd"`
	ProcessID        *string         `json:"processId"`
	Source           string          `json:"source"`
	Status           string          `json:"status"` // inProgress, completed, failed or declined
	CommandActions   []commandAction `json:"commandActions"`
	AggregatedOutput *string         `json:"aggregatedOutput"`
	ExitCode         *int            `json:"exitCode"`
	DurationMs       *int64          `json:"durationMs"`
}

// commandAction is what a command is for: read, listFiles, search or unknown.
type commandAction struct {
	Type    string  `json:"type"`
	Command string  `json:"command"`
	Name    string  `json:"name,omitempty"`
	Path    *string `json:"path,omitempty"`
	Query   *string `json:"query,omitempty"`
}

type fileChange struct {
	Type    string       `json:"type"`
	ID      string       `json:"id"`
	Changes []fileUpdate `json:"changes"`
	Status  string       `json:"status"`
}

type fileUpdate struct {
	Path string     `json:"path"`
	Kind changeKind `json:"kind"`
	// Diff is the content of a file that is added or deleted, else the hunks of
	// a unified diff.
	Diff string `json:"diff"`
}

// changeKind is add, delete or update.
type changeKind struct {
	Type     string  `json:"type"`
	MovePath *string `json:"move_path,omitempty"`
}

type dynamicToolCall struct {
	Type         string          `json:"type"`
	ID           string          `json:"id"`
	Namespace    *string         `json:"namespace"`
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	Status       string          `json:"status"`
	ContentItems []contentItem   `json:"contentItems"`
	Success      *bool           `json:"success"`
	DurationMs   *int64          `json:"durationMs"`
}

type contentItem struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type threadNote struct {
	Thread thread `json:"thread"`
}

type threadIDNote struct {
	ThreadID string `json:"threadId"`
}

type statusNote struct {
	ThreadID string       `json:"threadId"`
	Status   threadStatus `json:"status"`
}

type turnNote struct {
	ThreadID string `json:"threadId"`
	Turn     turn   `json:"turn"`
}

type itemNote struct {
	ThreadID      string `json:"threadId"`
	TurnID        string `json:"turnId"`
	Item          any    `json:"item"`
	StartedAtMs   *int64 `json:"startedAtMs,omitempty"`
	CompletedAtMs *int64 `json:"completedAtMs,omitempty"`
}

type deltaNote struct {
	ThreadID     string `json:"threadId"`
	TurnID       string `json:"turnId"`
	ItemID       string `json:"itemId"`
	Delta        string `json:"delta"`
	SummaryIndex *int   `json:"summaryIndex,omitempty"`
}

type summaryPartNote struct {
	ThreadID     string `json:"threadId"`
	TurnID       string `json:"turnId"`
	ItemID       string `json:"itemId"`
	SummaryIndex int    `json:"summaryIndex"`
}

type patchNote struct {
	ThreadID string       `json:"threadId"`
	TurnID   string       `json:"turnId"`
	ItemID   string       `json:"itemId"`
	Changes  []fileUpdate `json:"changes"`
}

type planNote struct {
	ThreadID    string     `json:"threadId"`
	TurnID      string     `json:"turnId"`
	Explanation *string    `json:"explanation"`
	Plan        []planStep `json:"plan"`
}

type planStep struct {
	Step   string `json:"step"`
	Status string `json:"status"` // pending, inProgress or completed
}

func planNoteOf(thread, turn string, in plan.Arguments) planNote {
	n := planNote{ThreadID: thread, TurnID: turn, Plan: []planStep{}}
	if in.Explanation != "" {
		n.Explanation = &in.Explanation
	}
	for _, s := range in.Plan {
		status := string(s.Status)
		if s.Status == plan.InProgress {
			status = inProgress
		}
		n.Plan = append(n.Plan, planStep{s.Step, status})
	}
	return n
}

type errorNote struct {
	ThreadID  string    `json:"threadId"`
	TurnID    string    `json:"turnId"`
	Error     turnError `json:"error"`
	WillRetry bool      `json:"willRetry"`
}

type warningNote struct {
	ThreadID *string `json:"threadId"`
	Message  string  `json:"message"`
}

type usageNote struct {
	ThreadID   string `json:"threadId"`
	TurnID     string `json:"turnId"`
	TokenUsage usage  `json:"tokenUsage"`
}

type usage struct {
	Total              tokens `json:"total"`
	Last               tokens `json:"last"`
	ModelContextWindow *int   `json:"modelContextWindow"`
}

type tokens struct {
	Total      int64 `json:"totalTokens"`
	Input      int64 `json:"inputTokens"`
	Cached     int64 `json:"cachedInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
	Output     int64 `json:"outputTokens"`
	Reasoning  int64 `json:"reasoningOutputTokens"`
}

type resolvedNote struct {
	ThreadID  string `json:"threadId"`
	RequestID int64  `json:"requestId"`
}

// askCommand is the request for somebody's word about a call.
type askCommand struct {
	Kind           string          `json:"kind"`
	ThreadID       string          `json:"threadId"`
	TurnID         string          `json:"turnId"`
	ItemID         string          `json:"itemId"`
	StartedAtMs    int64           `json:"startedAtMs"`
	EnvironmentID  *string         `json:"environmentId"`
	Reason         *string         `json:"reason"`
	Command        string          `json:"command"`
	Cwd            string          `json:"cwd"`
	CommandActions []commandAction `json:"commandActions"`
}

// askChange is the same about a change of files.
type askChange struct {
	ThreadID    string  `json:"threadId"`
	TurnID      string  `json:"turnId"`
	ItemID      string  `json:"itemId"`
	StartedAtMs int64   `json:"startedAtMs"`
	Reason      *string `json:"reason"`
}

// ptr returns a pointer to a value that is there, or nil for the zero value.
func ptr[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
