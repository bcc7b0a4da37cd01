package gemini

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/transport"
)

type request struct {
	SystemInstruction *content         `json:"systemInstruction,omitempty"`
	Contents          []content        `json:"contents"`
	Tools             []tools          `json:"tools,omitempty"`
	ToolConfig        *toolConfig      `json:"toolConfig,omitempty"`
	GenerationConfig  generationConfig `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is a part of any kind.
type part struct {
	Text             *string           `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	InlineData       *blob             `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type tools struct {
	FunctionDeclarations []declaration `json:"functionDeclarations,omitempty"`
	GoogleSearch         *struct{}     `json:"googleSearch,omitempty"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type toolConfig struct {
	FunctionCallingConfig struct {
		Mode string `json:"mode"`
	} `json:"functionCallingConfig"`
}

type generationConfig struct {
	MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitempty"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
}

func newRequest(req model.Request, known catalog.Model) request {
	r := request{Contents: contents(req.Input), GenerationConfig: generationConfig{MaxOutputTokens: req.MaxTokens}}
	third := !isSecond(req.Model)
	if third {
		for _, c := range r.Contents {
			sign(c.Parts)
		}
	}
	if req.System != "" {
		r.SystemInstruction = &content{Parts: []part{{Text: &req.System}}}
	}
	if len(req.Tools) > 0 {
		var list []declaration
		for _, t := range req.Tools {
			list = append(list, declaration{t.Name, t.Description, t.Schema})
		}
		r.Tools = []tools{{FunctionDeclarations: list}}
		if req.NoCalls {
			r.ToolConfig = &toolConfig{}
			r.ToolConfig.FunctionCallingConfig.Mode = "NONE"
		}
	}
	if req.Search { // ai.google.dev/gemini-api/docs/google-search; not beside functions
		r.Tools, r.ToolConfig = []tools{{GoogleSearch: &struct{}{}}}, nil
	}
	r.GenerationConfig.ThinkingConfig = thinking(req.Model, req.Effort, known)
	// Before Gemini 3, no request may have both: "Function calling with a response
	// mime type: 'application/json' is unsupported".
	if len(req.Schema) > 0 && (len(req.Tools) == 0 || third) {
		r.GenerationConfig.ResponseMIMEType, r.GenerationConfig.ResponseJSONSchema = "application/json", req.Schema
	}
	return r
}

// isSecond reports whether a model is older than Gemini 3.
func isSecond(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(name, "gemini-2") || strings.HasPrefix(name, "gemini-1")
}

// thinking asks for it in the way that the model has: levels from Gemini 3 on,
// before that a number of tokens (https://ai.google.dev/gemini-api/docs/thinking).
func thinking(name, effort string, known catalog.Model) *thinkingConfig {
	switch known.Thinking {
	case catalog.ByEffort:
		return &thinkingConfig{IncludeThoughts: true, ThinkingLevel: known.Effort(effort)}
	case catalog.ByBudget:
		return &thinkingConfig{IncludeThoughts: effort != "none", ThinkingBudget: budgetOf(effort, name)}
	}
	return nil
}

// budgetOf returns the budget of thinking tokens; nil leaves it to the model. Requests
// cannot disable thinking for Gemini 2.5 Pro.
func budgetOf(effort, name string) *int {
	budget := map[string]int{
		"none":    128,
		"minimal": 1024,
		"low":     4096,
		"medium":  8192,
		"high":    16_384,
		"xhigh":   24_576,
		"max":     24_576,
	}
	n, requested := budget[effort]
	if !requested {
		return nil
	}
	if effort == "none" && !strings.Contains(name, "-pro") {
		n = 0
	}
	return &n
}

// noSignature replaces the signature of a call that the API did not make
// (https://ai.google.dev/gemini-api/docs/thought-signatures#faqs).
const noSignature = "skip_thought_signature_validator"

// contents joins consecutive items of one role, so that roles alternate, and puts results of calls
// before inputs of the user.
func contents(items []model.Item) []content {
	var list []content
	ids := map[string]string{} // the API's, by ours
	answers := 0               // at the front of the last content
	for _, item := range items {
		if item.Role == model.Call {
			ids[item.CallID] = item.ID
		}
		parts := partsOf(item, ids[item.CallID])
		if len(parts) == 0 {
			continue
		}
		role := "user"
		switch item.Role {
		case model.Assistant, model.Reasoning, model.Call:
			role = "model"
		}
		if len(list) == 0 || list[len(list)-1].Role != role {
			list, answers = append(list, content{Role: role}), 0
		}
		last := &list[len(list)-1]
		if item.Role == model.Output {
			rest := append(parts, last.Parts[answers:]...)
			last.Parts = append(last.Parts[:answers:answers], rest...)
			answers++
			continue
		}
		last.Parts = append(last.Parts, parts...)
	}
	return list
}

// sign gives the first call a signature if it has none: it was another model's, or
// its response was cut.
func sign(parts []part) {
	for i := range parts {
		if parts[i].FunctionCall == nil {
			continue
		}
		if parts[i].ThoughtSignature == "" {
			parts[i].ThoughtSignature = noSignature
		}
		return
	}
}

// partsOf returns an item's parts; none if there is nothing that may be sent.
func partsOf(item model.Item, id string) []part {
	signature := ""
	if item.Signature != nil && item.Signature.Format == event.SignatureThought {
		signature = item.Signature.Data
	}
	switch item.Role {
	case model.User:
		var parts []part
		for _, d := range item.Documents {
			parts = append(parts, part{InlineData: &blob{d.MediaType, transport.DocumentBase64(d)}})
		}
		for _, image := range item.Images {
			parts = append(parts, part{InlineData: &blob{image.MediaType, transport.Base64(image)}})
		}
		if item.Text != "" {
			parts = append(parts, part{Text: &item.Text})
		}
		return parts
	case model.Assistant:
		if item.Text == "" && signature == "" {
			return nil
		}
		return []part{{Text: &item.Text, ThoughtSignature: signature}}
	case model.Reasoning:
		if signature == "" {
			return nil
		}
		return []part{{Text: &item.Text, Thought: item.Text != "", ThoughtSignature: signature}}
	case model.Call:
		return []part{{
			FunctionCall:     &functionCall{id, item.Name, transport.Arguments(item.Arguments)},
			ThoughtSignature: signature,
		}}
	case model.Output:
		field := "output" // or "error": by these two the API distinguishes them
		if item.Failed {
			field = "error"
		}
		return []part{{FunctionResponse: &functionResponse{id, item.Name, map[string]string{field: item.Text}}}}
	}
	return nil
}
