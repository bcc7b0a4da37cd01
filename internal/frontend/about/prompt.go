package about

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
)

// bytesPerToken is the estimate of docs/tokens.md.
const bytesPerToken = 4

// promptReport is the first request of a session as JSON.
type promptReport struct {
	Model      string       `json:"model"`
	ToolFamily string       `json:"tool_family"`
	Prompt     string       `json:"prompt"` // gpt, claude, gemini, other
	Permission string       `json:"permission"`
	Bytes      int          `json:"bytes"`
	Tokens     int          `json:"tokens"`
	System     []promptPart `json:"system"`
	Tools      []promptTool `json:"tools"`
	Notes      []string     `json:"notes,omitempty"`
}

type promptPart struct {
	Part   string `json:"part"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
}

type promptTool struct {
	Name        string          `json:"name"`
	Bytes       int             `json:"bytes"`
	Tokens      int             `json:"tokens"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Grammar     string          `json:"grammar,omitempty"`
	// Deferred is set if the model receives the tool only as a result of a search.
	Deferred string `json:"deferred,omitempty"`
}

func promptOf(r assemble.FirstRequest) promptReport {
	out := promptReport{
		Model: r.Model, ToolFamily: r.Tools, Prompt: r.Prompt, Permission: r.Permission, Notes: r.Notes,
		System: []promptPart{}, Tools: []promptTool{},
	}
	if out.Prompt == "" {
		out.Prompt = "other"
	}
	for _, p := range r.Parts {
		out.System = append(out.System, promptPart{p.Name, len(p.Text), estimated(len(p.Text)), p.Text})
		out.Bytes += len(p.Text)
	}
	for _, t := range r.Request.Tools {
		n := toolBytes(t)
		out.Tools = append(out.Tools, promptTool{
			Name: t.Name, Bytes: n, Tokens: estimated(n), Description: t.Description, Schema: compact(t.Schema),
			Grammar: t.Grammar, Deferred: t.Deferred,
		})
		if t.Deferred == "" {
			out.Bytes += n
		}
	}
	out.Tokens = estimated(out.Bytes)
	return out
}

func toolBytes(t model.ToolSpec) int {
	return len(t.Name) + len(t.Description) + len(compact(t.Schema)) + len(t.Grammar)
}

// compact returns a schema as providers send it.
func compact(schema json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, schema) != nil {
		return schema
	}
	return out.Bytes()
}

func estimated(n int) int { return (n + bytesPerToken - 1) / bytesPerToken }

// PromptJSON writes the first request of a session as one JSON object.
func PromptJSON(to io.Writer, r assemble.FirstRequest) error {
	return listing.JSON(to, []promptReport{promptOf(r)})
}

// Prompt writes the first request of a session: a table of its parts, then their texts. For a
// terminal, it replaces control characters: files of the project and MCP servers can have any.
func Prompt(to io.Writer, r assemble.FirstRequest, isTerminal bool) error {
	p := promptOf(r)
	rows := [][]string{{"PART", "BYTES", "TOKENS"}}
	row := func(name string, bytes, tokens int) {
		rows = append(rows, []string{terminal.OneLine(name), strconv.Itoa(bytes), strconv.Itoa(tokens)})
	}
	var texts strings.Builder
	for _, part := range p.System {
		row("prompt: "+part.Part, part.Bytes, part.Tokens)
		fmt.Fprintf(&texts, "\n=== prompt: %s ===\n\n%s\n", part.Part, part.Text)
	}
	for _, t := range p.Tools {
		name := "tool: " + t.Name
		if t.Deferred != "" {
			name += " (found by search)"
		}
		row(name, t.Bytes, t.Tokens)
		fmt.Fprintf(&texts, "\n=== tool: %s ===\n\n%s\n\n%s\n", t.Name, t.Description, t.Schema)
		if t.Grammar != "" {
			fmt.Fprintf(&texts, "\n%s\n", t.Grammar)
		}
	}
	row("all", p.Bytes, p.Tokens)
	if _, err := fmt.Fprintf(to, "%s, prompt for %s models, tools of %s, permission %s\n\n", p.Model, p.Prompt,
		p.ToolFamily, p.Permission); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	if err := listing.Table(to, rows); err != nil {
		return err
	}
	text := texts.String()
	if isTerminal {
		text = terminal.Text(text)
	}
	if _, err := io.WriteString(to, text); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}
