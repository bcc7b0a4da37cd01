package modeltest

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The caches of OpenAI, as of November 2026:
// https://developers.openai.com/api/docs/guides/prompt-caching.
//
// Until GPT-5.5:
//   - Prompts of 1,024 tokens or more are cached, in steps of 128 tokens.
//   - A request goes to a machine by its prompt_cache_key and the first 256 tokens
//     or so, and finds only what that machine has.
//   - An entry lives for 5 minutes without use, and an hour at most; for a day where
//     prompt_cache_retention is "24h", as it always is with GPT-5.5.
//
// From GPT-5.6 on:
//   - There is a breakpoint at the latest user's or tool's message, and at each block
//     with a prompt_cache_breakpoint; prompt_cache_options.mode "explicit" takes the
//     first away. The latest four of 1,024 tokens or more are written.
//   - A read finds the longest entry at one of the latest 50 breakpoints of the
//     conversation, including breakpoints of earlier requests, and nothing between.
//   - It needs the prompt_cache_key. An entry lives for 30 minutes.
//
// Gemini's implicit cache (https://ai.google.dev/gemini-api/docs/caching) is
// published with its minimum alone: 2,048 tokens for Gemini 2.5, 4,096 for later
// ones. This server assumes OpenAI's steps and lifetime for it.
const (
	leastOfGPT    = 1024
	stepOfGPT     = 128
	routedBy      = 256
	maxWrites     = 4
	maxReads      = 50
	lifeOfBreak   = 30 * time.Minute
	lifeInMemory  = 5 * time.Minute
	maxInMemory   = time.Hour
	lifeInStorage = 24 * time.Hour
)

type openAIRequest struct {
	Tools        []json.RawMessage `json:"tools"`
	Instructions string            `json:"instructions"`
	Input        json.RawMessage   `json:"input"`    // Responses
	Messages     []json.RawMessage `json:"messages"` // Chat Completions
	Text         json.RawMessage   `json:"text"`
	Format       json.RawMessage   `json:"response_format"`
	Key          string            `json:"prompt_cache_key"`
	Retention    string            `json:"prompt_cache_retention"`
	Options      struct {
		Mode string `json:"mode"`
	} `json:"prompt_cache_options"`
}

// openAI returns the effect of the request on the cache by OpenAI's rules.
func (c *caches) openAI(p *prompt, model string, x *Exchange) *cacheUse {
	var req openAIRequest
	_ = json.Unmarshal(x.Body, &req) // the rules refused requests that cannot be read
	p.note(req.Key)
	scope := digestOf(p)
	for _, schema := range []json.RawMessage{req.Text, req.Format} { // they stand before the instructions
		if len(schema) > 0 {
			p.add("schema", schema)
		}
	}
	for _, t := range req.Tools {
		p.add("tool", visible(t))
	}
	p.add("system", encode(req.Instructions))
	items, ok := list(req.Input)
	if !ok && len(req.Input) > 0 {
		items = []json.RawMessage{encode(object{"type": "message", "role": "user", "content": req.Input})}
	}
	for _, item := range append(items, req.Messages...) {
		p.item(item)
	}
	switch {
	case hasBreakpoints(model) && req.Key == "": // "improved matching" needs one
		return &cacheUse{input: p.tokens()}
	case hasBreakpoints(model):
		return c.breakpoints(p, &req, x.At)
	}
	least, idle, limit := int64(leastOfGPT), lifeInMemory, maxInMemory
	if req.Retention == "24h" || strings.HasPrefix(model, "gpt-5.5") {
		idle, limit = lifeInStorage, lifeInStorage
	}
	if version, ok := strings.CutPrefix(model, "gemini-"); ok {
		least = 4096
		if strings.HasPrefix(version, "2.5") {
			least = 2048
		}
	}
	return c.steps(p, scope, least, cacheWrite{idle: idle, limit: limit}, x.At)
}

func digestOf(p *prompt) (d digest) {
	p.sum.Sum(d[:0])
	return d
}

// roleOf returns the role of the item's author: "user", "tool" or another.
func roleOf(item json.RawMessage) string {
	var it struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	_ = json.Unmarshal(item, &it)
	if strings.HasSuffix(it.Type, "_output") {
		return "tool"
	}
	return it.Role
}

// item adds an item of the conversation, block by block if it has any.
func (p *prompt) item(item json.RawMessage) {
	role := roleOf(item)
	latest := role == "user" || role == "tool"
	var o map[string]json.RawMessage
	_ = json.Unmarshal(item, &o)
	blocks, _ := list(o["content"])
	if len(blocks) == 0 {
		p.add(role, item).latest = latest
		return
	}
	delete(o, "content")
	p.add(role, encode(o))
	for i, b := range blocks {
		p.add(role, b).latest = latest && i == len(blocks)-1
	}
}

// hasBreakpoints reports whether the model is GPT-5.6 or later.
func hasBreakpoints(model string) bool {
	version, ok := strings.CutPrefix(model[strings.LastIndex(model, "/")+1:], "gpt-")
	if !ok {
		return false
	}
	number, _, _ := strings.Cut(version, "-")
	n, err := strconv.ParseFloat(number, 64)
	return err == nil && n >= 5.6
}

// steps is a cache that needs no breakpoints.
func (c *caches) steps(p *prompt, scope digest, least int64, write cacheWrite, at time.Time) *cacheUse {
	use := &cacheUse{input: p.tokens()}
	text, step := p.rendered.Bytes(), stepOfGPT*p.bytesPerToken
	sum := sha256.New()
	sum.Write(scope[:])
	if len(text) < int(least)*p.bytesPerToken {
		return use
	}
	machine := sha256.Sum256(append(scope[:], text[:routedBy*p.bytesPerToken]...))
	sum.Write(machine[:])
	missed := false
	for end := step; end <= len(text); end += step {
		sum.Write(text[end-step : end])
		tokens := int64(end / p.bytesPerToken)
		if tokens < least {
			continue
		}
		sum.Sum(write.digest[:0])
		if missed = missed || !c.read(write.digest, at); !missed {
			use.read = tokens
		}
		write.anew = missed // it was computed again
		use.writes = append(use.writes, write)
	}
	return use
}

// breakpoints is the cache from GPT-5.6 on.
func (c *caches) breakpoints(p *prompt, req *openAIRequest, at time.Time) *cacheUse {
	use := &cacheUse{input: p.tokens()}
	explicit := req.Options.Mode == "explicit"
	seen := 0
	for i := len(p.pieces) - 1; i >= 0 && seen < maxReads; i-- {
		piece := p.pieces[i]
		if piece.tokens < leastOfGPT || piece.mark == 0 && (explicit || !piece.latest) {
			continue
		}
		seen++
		if seen == 1 || piece.mark > 0 && len(use.writes) < maxWrites {
			use.writes = append(use.writes, cacheWrite{digest: piece.digest, idle: lifeOfBreak})
			use.written = max(use.written, piece.tokens)
		}
		if use.read == 0 && c.read(piece.digest, at) {
			use.read = piece.tokens
		}
	}
	use.written = max(use.written-use.read, 0)
	return use
}
