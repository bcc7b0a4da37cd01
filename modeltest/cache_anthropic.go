package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The cache of the Messages API, as of November 2026:
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
//
//   - The order is tools, system, messages; a change in one of them changes all
//     later ones. So do, for system and messages, the speed and a schema for
//     the answer (…/structured-outputs#prompt-modification-and-token-costs); for the
//     messages alone, tool_choice, the parameters of thinking, the effort, and
//     whether there is an image anywhere.
//   - A breakpoint (cache_control) writes one entry, for the prefix that ends there,
//     and no entry for any place before it. At most four; one at the top level of
//     the request stands behind its last block.
//   - A read looks for an entry at each breakpoint and at the 19 blocks before it;
//     then from the breakpoint before that on. The Claude API counts calls in a row,
//     and results in a row, as one block; Bedrock and Vertex, to which the same
//     requests go, do not. This server does so only for OpenRouter's automatic
//     breakpoint, since OpenRouter sends such requests to the Claude API.
//   - A prefix below the model's minimum is not cached, without a word.
//   - An entry lives for five minutes, or an hour, after the request that wrote or
//     last read it. It can be read once the response of that request has begun.
//   - Models before Opus 4.5 and Sonnet 4.6, and Haiku up to 4.5, do not read the
//     thinking before the last message of the user. The API removes it, so the rest of
//     the prompt has another prefix.
const lookBack = 20

// leastOfClaude is the smallest prefix that the model caches, in tokens.
func leastOfClaude(model string) int64 {
	name := model[strings.LastIndex(model, "/")+1:]
	name = strings.ReplaceAll(strings.TrimPrefix(name, "claude-"), ".", "-")
	for _, least := range []struct {
		tokens int64
		names  []string
	}{
		{4096, []string{"opus-4-6", "opus-4-5", "haiku-4-5"}},
		{2048, []string{"mythos-preview", "opus-4-7", "3-5-haiku", "haiku-3"}},
		{512, []string{"opus-5", "fable-5", "mythos-5"}},
		{1024, []string{"sonnet", "opus-4"}},
	} {
		if slices.ContainsFunc(least.names, func(n string) bool { return strings.HasPrefix(name, n) }) {
			return least.tokens
		}
	}
	return 4096 // not known: the most that any has
}

// thinkingIsStripped reports whether the model does not read earlier turns' thinking.
func thinkingIsStripped(model string) bool {
	name := strings.TrimPrefix(model, "claude-")
	return slices.ContainsFunc(
		[]string{
			"3-",
			"opus-4-0",
			"opus-4-1",
			"opus-4-2",
			"sonnet-4-0",
			"sonnet-4-2",
			"sonnet-4-5",
			"haiku-4-5",
			"haiku-3",
		},
		func(n string) bool { return strings.HasPrefix(name, n) },
	)
}

// anthropic returns the effect of the request on the cache by Anthropic's rules.
func (c *caches) anthropic(p *prompt, least int64, at time.Time) *cacheUse {
	use := &cacheUse{input: p.tokens()}
	for i, piece := range p.pieces {
		if piece.mark == 0 || piece.tokens < least {
			continue
		}
		use.writes = append(use.writes, cacheWrite{digest: piece.digest, idle: piece.mark})
		use.written = piece.tokens
		for back, seen := i, 1; back >= 0 && seen <= lookBack; back-- {
			if c.read(p.pieces[back].digest, at) {
				use.read = max(use.read, p.pieces[back].tokens)
				break
			}
			if back > 0 && (p.pieces[back].run == "" || p.pieces[back].run != p.pieces[back-1].run) {
				seen++
			}
		}
	}
	use.written = max(use.written-use.read, 0)
	return use
}

// messages reads a request to the Messages API.
func (p *prompt) messages(body []byte, strips bool) {
	var req struct {
		Tools        []json.RawMessage `json:"tools"`
		System       json.RawMessage   `json:"system"`
		Messages     []messagesMessage `json:"messages"`
		ToolChoice   json.RawMessage   `json:"tool_choice"`
		Thinking     json.RawMessage   `json:"thinking"`
		Speed        string            `json:"speed"`
		CacheControl json.RawMessage   `json:"cache_control"`
		OutputConfig struct {
			Effort string          `json:"effort"`
			Format json.RawMessage `json:"format"`
		} `json:"output_config"`
	}
	_ = json.Unmarshal(body, &req) // the rules refused requests that cannot be read
	deferred := map[string]json.RawMessage{}
	for _, t := range req.Tools {
		if o := offeredAs(t); o.Defer {
			deferred[o.Name] = t
			continue
		}
		p.add("tool", t)
	}
	p.note("system", req.Speed, string(req.OutputConfig.Format))
	for _, b := range contentBlocks(req.System) {
		p.add("system", b)
	}
	image := ""
	last := -1 // the message of the user that is no tool's result
	for i, m := range req.Messages {
		for _, b := range contentBlocks(m.Content) {
			if kind := kindOf(b); m.Role == "user" && kind != "tool_result" {
				last = i
			}
		}
		if strings.Contains(string(m.Content), `"type":"image"`) {
			image = "image"
		}
	}
	p.note("messages", string(req.ToolChoice), string(req.Thinking), req.OutputConfig.Effort, image)
	for i, m := range req.Messages {
		p.note(m.Role)
		for _, b := range contentBlocks(m.Content) {
			if kind := kindOf(b); strips && i < last && (kind == "thinking" || kind == "redacted_thinking") {
				continue
			}
			p.add(m.Role, b)
			var result struct {
				Content json.RawMessage `json:"content"`
			}
			var f found
			if len(deferred) > 0 && json.Unmarshal(b, &result) == nil && json.Unmarshal(result.Content, &f) == nil {
				for _, r := range f.References { // where it is found, it is read in full
					p.add("tool", deferred[r.Name])
				}
			}
		}
	}
	p.markEnd(req.CacheControl)
}

func kindOf(block json.RawMessage) string {
	var b struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(block, &b) // "" is no kind
	return b.Type
}

// markEnd sets the breakpoint that the request asks for as a whole.
func (p *prompt) markEnd(control json.RawMessage) {
	if n := len(p.pieces); n > 0 && lifeOf(control) > 0 {
		p.pieces[n-1].mark = max(p.pieces[n-1].mark, lifeOf(control))
	}
}

// chat reads a request to OpenRouter's Chat Completions, which passes breakpoints on:
// https://openrouter.ai/docs/guides/best-practices/prompt-caching.
func (p *prompt) chat(body []byte) {
	var req struct {
		Tools    []json.RawMessage `json:"tools"`
		Messages []struct {
			Role       string            `json:"role"`
			Content    json.RawMessage   `json:"content"`
			ToolCalls  []json.RawMessage `json:"tool_calls"`
			ToolCallID string            `json:"tool_call_id"`
			Details    json.RawMessage   `json:"reasoning_details"`
		} `json:"messages"`
		Reasoning    json.RawMessage `json:"reasoning"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	_ = json.Unmarshal(body, &req)
	for _, t := range req.Tools {
		p.add("tool", t)
	}
	p.note(string(req.Reasoning))
	for _, m := range req.Messages {
		p.note(m.Role, m.ToolCallID)
		if len(m.Details) > 0 {
			p.add(m.Role, m.Details)
		}
		for _, b := range contentBlocks(m.Content) {
			if piece := p.add(m.Role, b); m.Role == "tool" {
				piece.run = "results"
			}
		}
		for _, call := range m.ToolCalls {
			p.add(m.Role, call).run = "calls"
		}
	}
	p.markEnd(req.CacheControl)
}
