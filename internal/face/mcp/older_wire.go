package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/image"
)

// newConversation are the parameters of newConversation. What it says of
// sandboxes is a policy here, and what has no meaning here is not named.
type newConversation struct {
	Model            string         `json:"model"`
	Dir              string         `json:"cwd"`
	Approval         string         `json:"approvalPolicy"`
	Sandbox          string         `json:"sandbox"`
	Config           map[string]any `json:"config"`
	BaseInstructions *string        `json:"baseInstructions"`
	Instructions     string         `json:"developerInstructions"`
}

// conversation answers newConversation.
type conversation struct {
	ID     string `json:"conversationId"`
	Model  string `json:"model"`
	Effort string `json:"reasoningEffort,omitempty"`
	Path   string `json:"rolloutPath"`
}

// resumeConversation are the parameters of resumeConversation.
type resumeConversation struct {
	Path      string           `json:"path"`
	ID        string           `json:"conversationId"`
	Overrides *newConversation `json:"overrides"`
}

// session is the one that is meant.
func (r resumeConversation) session() string {
	return cmp.Or(r.ID, strings.TrimSuffix(filepath.Base(r.Path), logSuffix))
}

// resumedConversation answers resumeConversation.
type resumedConversation struct {
	conversation

	Messages []any `json:"initialMessages,omitempty"`
}

// listConversations are the parameters of listConversations.
type listConversations struct {
	PageSize int    `json:"pageSize"`
	Cursor   string `json:"cursor"`
}

// conversations answer listConversations.
type conversations struct {
	Items []conversationItem `json:"items"`
	Next  string             `json:"nextCursor,omitempty"`
}

type conversationItem struct {
	ID        string    `json:"conversationId"`
	Path      string    `json:"path"`
	Preview   string    `json:"preview"`
	Timestamp time.Time `json:"timestamp"`
}

// sendMessage are the parameters of sendUserMessage.
type sendMessage struct {
	Conversation string      `json:"conversationId"`
	Items        []inputItem `json:"items"`
}

// sendTurn are the parameters of sendUserTurn.
type sendTurn struct {
	sendMessage

	Dir      string          `json:"cwd"`
	Approval string          `json:"approvalPolicy"`
	Sandbox  json.RawMessage `json:"sandboxPolicy"`
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
}

// inputItem is a part of an input: text, image or localImage.
type inputItem struct {
	Type string `json:"type"`
	Data struct {
		Text  string `json:"text"`
		Image string `json:"imageUrl"`
		Older string `json:"image_url"`
		Path  string `json:"path"`
	} `json:"data"`
}

// aboutConversation names a conversation.
type aboutConversation struct {
	Conversation string `json:"conversationId"`
}

// interruptedConversation answers interruptConversation. Clients require a
// reason; outcome says whether it is more than what was asked for: idle,
// completed and failed mean that the turn was not aborted.
type interruptedConversation struct {
	AbortReason event.Reason `json:"abortReason"`
	Outcome     string       `json:"outcome"`
}

// subscription is a listener's.
type subscription struct {
	ID string `json:"subscriptionId"`
}

type userAgent struct {
	UserAgent string `json:"userAgent"`
}

// authStatus answers getAuthStatus: there is no login here.
type authStatus struct {
	Requires bool `json:"requiresOpenaiAuth"`
}

type empty struct{}

// logSuffix ends the name of a session's file.
const logSuffix = ".log"

// logPath is the file that clients know a conversation by.
func logPath(dataDir, session string) string {
	return filepath.Join(dataDir, "sessions", session+logSuffix)
}

func conversationOf(s *agent.Opened) conversation {
	c := s.Agent.Config
	return conversation{ID: s.ID(), Model: c.Model, Effort: c.Effort, Path: logPath(c.Dir, s.ID())}
}

// The words for policies that matter here.
const (
	approvalNever = "never"
	sandboxRead   = "read-only"
)

// policyOf is what the words for policies mean here: to ask, unless never to
// ask; then what a sandbox would have allowed. "" is none of them.
func policyOf(approval, sandbox string) settle.Permission {
	switch {
	case approval == "":
		return ""
	case approval != approvalNever:
		return settle.Ask
	case sandbox == sandboxRead:
		return settle.Deny
	}
	return settle.Allow
}

// modeOf is a mode with that name.
func modeOf(p settle.Permission) agent.Mode { return agent.Mode{Name: string(p), Permission: p} }

// wish says how a conversation is to work.
func (o *older) wish(ctx context.Context, in newConversation) (agent.Wish, *agent.Policy, error) {
	w := agent.Wish{Dir: o.face.Dir, Settings: map[string]string{}}
	if in.Dir != "" {
		w.Dir = in.Dir
		if !filepath.IsAbs(w.Dir) {
			w.Dir = filepath.Join(o.face.Dir, w.Dir)
		}
	}
	if err := isDirectory(w.Dir); err != nil {
		return w, nil, invalid("%v", err)
	}
	text := func(key string) string { s, _ := in.Config[key].(string); return s }
	if name := cmp.Or(in.Model, text("model")); name != "" {
		w.Settings["model"] = o.model(ctx, w.Dir, name)
	}
	if effort := text("model_reasoning_effort"); effort != "" {
		w.Settings["effort"] = effort
	}
	permission := policyOf(cmp.Or(in.Approval, text("approval_policy")), cmp.Or(in.Sandbox, text("sandbox_mode")))
	if permission == "" {
		var err error
		if permission, err = o.face.permission(w.Dir); err != nil {
			return w, nil, err
		}
	}
	policy := agent.NewPolicy(modeOf(permission))
	w.Options = func(a *agent.Options) {
		a.Policy = policy
		if in.BaseInstructions != nil {
			a.System = in.BaseInstructions
		}
		if in.Instructions != "" {
			a.Append = in.Instructions
		}
	}
	return w, policy, nil
}

// model is PROVIDER/NAME for a model that clients name without its provider:
// that of the configured model.
func (o *older) model(ctx context.Context, dir, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	if strings.HasPrefix(name, "claude-") {
		return "anthropic/" + name
	}
	if a, err := o.face.Hosts.Agent(ctx, agent.Wish{Dir: dir}); err == nil {
		return a.Config.ProviderName + "/" + name
	}
	return "openai/" + name
}

// inputOf puts the parts of an input together.
func inputOf(items []inputItem) (string, []event.Image, error) {
	var texts []string
	var images []event.Image
	for n, i := range items {
		var picture event.Image
		var err error
		switch i.Type {
		case "text":
			texts = append(texts, i.Data.Text)
			continue
		case "image":
			picture, err = image.Decode(cmp.Or(i.Data.Image, i.Data.Older))
		case "localImage", "local_image":
			picture, err = image.Read(i.Data.Path)
		default:
			err = fmt.Errorf("its type is %q; text, image and localImage are known", i.Type)
		}
		if err != nil {
			return "", nil, invalid("cannot take item %d: %v", n+1, err)
		}
		images = append(images, picture)
	}
	return strings.Join(texts, "\n\n"), images, nil
}

// defaultPage is how many conversations are listed if the client does not say.
const defaultPage = 25

// list answers listConversations, page by page; the cursor counts.
func (o *older) list(ctx context.Context, in listConversations) (any, error) {
	size := in.PageSize
	if size <= 0 {
		size = defaultPage
	}
	from := 0
	if in.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(in.Cursor); err != nil || from < 0 {
			return nil, invalid("there is no page at the cursor %q", in.Cursor)
		}
	}
	all, err := o.face.kept.List(ctx, catalogue.Query{})
	if err != nil {
		return nil, err
	}
	out := conversations{Items: []conversationItem{}}
	for _, e := range all[min(from, len(all)):min(from+size, len(all))] {
		out.Items = append(out.Items, conversationItem{e.Session, logPath(o.face.dataDir(), e.Session), e.Title, e.Created})
	}
	if from+size < len(all) {
		out.Next = strconv.Itoa(from + size)
	}
	return out, nil
}
