package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

const (
	// maxPrompts bounds the prompts of a server, and maxArguments the arguments of a
	// prompt.
	maxPrompts   = 256
	maxArguments = 32
	// maxPrompt bounds the text of a prompt in bytes, and maxImages its images. An image
	// larger than maxImage is stored in a file, because providers accept no larger ones.
	maxPrompt = 128 << 10
	maxImages = 16
	maxImage  = 5 << 20
)

// Prompt is a prompt in its server's description.
type Prompt struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// Argument is an argument of a prompt. Its value is a text.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Command is a prompt of a server with its name for people.
type Command struct {
	Name   string
	Server string
	Prompt Prompt
}

// claudePrefix is Claude Code's prefix of the names of prompts.
const claudePrefix = "mcp__"

// ClaudeName is the command's name in Claude Code.
func (c Command) ClaudeName() string { return claudePrefix + c.Name }

// promptOf converts a prompt, within limits.
func promptOf(p *sdk.Prompt) Prompt {
	kept := Prompt{Name: p.Name, Description: clip(p.Description, maxDescription)}
	if strings.TrimSpace(kept.Description) == "" {
		kept.Description = clip(p.Title, maxDescription)
	}
	for _, a := range p.Arguments[:min(len(p.Arguments), maxArguments)] {
		if a != nil {
			kept.Arguments = append(kept.Arguments,
				Argument{
					Name: clip(a.Name, maxName), Description: clip(a.Description, maxDescription/8),
					Required: a.Required,
				})
		}
	}
	return kept
}

// prompts requests the server's prompts.
func (c *client) prompts(ctx context.Context) (list []Prompt, err error) {
	list = []Prompt{}
	size := 0
	_, err = eachPage(func(cursor string) (int, string, error) {
		page, err := c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return 0, "", err
		}
		for _, p := range page.Prompts {
			if p == nil || p.Name == "" {
				continue
			}
			kept := promptOf(p)
			raw, err := json.Marshal(kept)
			if size += len(raw); err == nil && len(list) < maxPrompts && size <= maxCatalogue/4 {
				list = append(list, kept)
			}
		}
		return len(page.Prompts), page.NextCursor, nil
	})
	return list, err
}

// promptsShare is the divisor of the start timeout that bounds the request for prompts, so
// that a server that does not answer it stays usable.
const promptsShare = 6

// knownPrompts requests the server's prompts if it announces any; nil if they stay unknown.
func (c *client) knownPrompts(ctx context.Context, can *sdk.ServerCapabilities) []Prompt {
	if can.Prompts == nil {
		return []Prompt{}
	}
	if end, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/promptsShare)
		defer cancel()
	}
	list, err := c.prompts(ctx)
	if err != nil {
		return nil
	}
	return list
}

// commandsOf names the prompts of servers. A prompt whose name is taken gets another name,
// with a note.
func commandsOf(servers []Server, of func(Server) []Prompt) (list []Command, notes []string) {
	taken := map[string]bool{}
	for _, s := range servers {
		for _, p := range of(s) {
			name, note := freeName(s.Name, "prompt", p.Name, taken)
			if note != "" {
				notes = append(notes, note)
			}
			if name != "" {
				list = append(list, Command{Name: name, Server: s.Name, Prompt: p})
			}
		}
	}
	return list, notes
}

// KnownCommands returns the known prompts of servers in dir, a [Config].CacheDir, without a
// request. Notes are about names.
func KnownCommands(dir string, servers []Server) (list []Command, notes []string) {
	return commandsOf(servers, func(s Server) []Prompt {
		if c := Known(dir, s); c != nil {
			return c.Prompts
		}
		return nil
	})
}

// Commands returns the currently known prompts of the session's enabled servers.
func (s *Servers) Commands() (list []Command, notes []string) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return commandsOf(s.offer.Servers, func(server Server) []Prompt {
		if s.links[server.Name].isDisabled() {
			return nil
		}
		return s.prompts[server.Name]
	})
}

// Find returns the prompt with a name, also in Claude Code's form. If the name begins with
// the name of a server whose prompts are unknown, Find waits for them. false means that no
// server has the prompt.
func (s *Servers) Find(ctx context.Context, name string) (Command, bool, error) {
	if s == nil || !strings.Contains(name, Separator) {
		return Command{}, false, nil
	}
	if c, ok := s.named(name); ok {
		return c, true, nil
	}
	for _, server := range s.offer.Servers {
		if l := s.links[server.Name]; !l.isKnown() && belongs(server.Name, name) {
			if _, err := l.client(ctx); err != nil {
				return Command{}, false, errors.New(s.masked(err.Error())) // C15: no log masks it
			}
		}
	}
	if c, ok := s.named(name); ok {
		return c, true, nil
	}
	for _, server := range s.offer.Servers {
		if belongs(server.Name, name) {
			return Command{}, false, fmt.Errorf("the MCP server %q has no prompt of the name %s", server.Name,
				clip(name, 2*maxName))
		}
	}
	return Command{}, false, nil
}

// belongs reports whether a name begins with a server's name.
func belongs(server, name string) bool {
	prefix := valid(server) + Separator
	return strings.HasPrefix(name, prefix) || strings.HasPrefix(name, claudePrefix+prefix)
}

// named returns the prompt with the name, also in Claude Code's form.
func (s *Servers) named(name string) (Command, bool) {
	list, _ := s.Commands()
	for _, called := range []string{name, strings.TrimPrefix(name, claudePrefix)} {
		if at := slices.IndexFunc(list, func(c Command) bool { return c.Name == called }); at >= 0 {
			return list[at], true
		}
	}
	return Command{}, false
}

// Prompted is the expansion of a prompt. Images have types that inputs accept.
type Prompted struct {
	Text   string
	Images []event.Image
}

// Get requests the expansion of a prompt, with the limits of a call. name is the name of
// stored files and unique in the session.
func (s *Servers) Get(ctx context.Context, c Command, arguments map[string]string, name string) (Prompted, error) {
	l := s.links[c.Server]
	if l == nil {
		return Prompted{}, fmt.Errorf("there is no MCP server %q", c.Server)
	}
	call := tool.Call{ID: name, Progress: func(string) {}, Ask: tool.NobodyToAsk}
	var answer *sdk.GetPromptResult
	result, err := s.ask(ctx, l, call,
		func(ctx context.Context, c2 *client, call tool.Call) (*sdk.CallToolResult, error) {
			return c2.within(ctx, call, func(ctx context.Context, token string) (_ *sdk.CallToolResult, err error) {
				params := &sdk.GetPromptParams{Name: c.Prompt.Name, Arguments: arguments}
				params.SetProgressToken(token)
				answer, err = c2.session.GetPrompt(ctx, params)
				return &sdk.CallToolResult{}, err
			})
		})
	switch {
	case err == nil && result.Failed:
		err = errors.New(result.Output)
	case err == nil && answer == nil:
		err = errors.New("the server answered with no prompt")
	}
	switch {
	case ctx.Err() != nil:
		return Prompted{}, fmt.Errorf("cannot get the prompt /%s: %w", c.Name, context.Cause(ctx))
	case err != nil: // C15: no log masks it
		return Prompted{}, fmt.Errorf("cannot get the prompt /%s: %s", c.Name, s.masked(err.Error()))
	}
	return s.prompted(answer.Messages, name)
}

// prompted joins the messages of a prompt to one input: a request must not end with a
// message of the model (C6), so that the model's messages are quoted.
func (s *Servers) prompted(messages []*sdk.PromptMessage, name string) (out Prompted, err error) {
	w := writer{dir: s.config.SpoolDir, name: name, pictures: &out.Images}
	dialogue := slices.ContainsFunc(messages,
		func(m *sdk.PromptMessage) bool { return m != nil && m.Role == roleAssistant })
	if dialogue {
		w.part("[This prompt has several messages. The assistant's messages here are part of the prompt.]")
	}
	last := sdk.Role("")
	for _, m := range messages {
		if m == nil {
			continue
		}
		if dialogue && m.Role != last {
			w.part(map[bool]string{true: "[assistant:]", false: "[user:]"}[m.Role == roleAssistant])
		}
		last = m.Role
		w.content(m.Content)
	}
	text := strings.ToValidUTF8(strings.Join(w.parts, "\n\n"), "\uFFFD")
	if strings.TrimSpace(text) == "" && len(out.Images) == 0 {
		return out, errors.New("the prompt that the server sent is empty")
	}
	if out.Text = text; len(text) > maxPrompt {
		out.Text = excerpt(text, maxPrompt)
		if path, err := s.keepText(name, text); err == nil {
			out.Text += fmt.Sprintf("\n[The whole prompt is in %s.]", path)
		}
	}
	return out, nil
}

// roleAssistant is the role of messages in the model's name.
const roleAssistant sdk.Role = "assistant"
