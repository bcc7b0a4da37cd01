package modeltest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"sync"
	"time"
)

// caches are the prompt caches of the providers, by their published rules: see
// cache_anthropic.go and cache_openai.go. Where a rule leaves room, ours is the
// stricter reading. Its zero value is ready.
type caches struct {
	mu      sync.Mutex
	entries map[digest]*cacheEntry // guarded by mu
}

// digest identifies a prefix of a prompt, and the accounts that can read it.
type digest [sha256.Size]byte

// cacheEntry is a prefix that was written.
type cacheEntry struct {
	written, used time.Time
	idle          time.Duration // the entry expires after this time without use
	limit         time.Duration // it expires this time after its writing; 0 means never
}

func (e *cacheEntry) alive(at time.Time) bool {
	return e != nil && at.Sub(e.used) < e.idle && (e.limit == 0 || at.Sub(e.written) < e.limit)
}

// read reports whether the prefix is in the cache, and records its use.
func (c *caches) read(d digest, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[d]
	if !e.alive(at) {
		return false
	}
	e.used = at
	return true
}

// write adds prefixes, and extends the lives of existing ones.
func (c *caches) write(list []cacheWrite, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[digest]*cacheEntry{}
	}
	for _, w := range list {
		if e := c.entries[w.digest]; e.alive(at) && !w.anew {
			e.used, e.idle = at, max(e.idle, w.idle)
			continue
		}
		c.entries[w.digest] = &cacheEntry{written: at, used: at, idle: w.idle, limit: w.limit}
	}
}

// cacheWrite is a prefix that is in the cache as soon as the response begins.
type cacheWrite struct {
	digest      digest
	idle, limit time.Duration
	anew        bool // an entry is written even if one exists
}

// cacheUse is the effect of a request on the caches.
type cacheUse struct {
	input, read, written int64 // tokens
	writes               []cacheWrite
}

// use returns the effect of the request on the provider's cache; nil if the rules leave caches out.
func (s *Server) use(x *Exchange) *cacheUse {
	if !s.rules.Caches || x.Dialect == Gemini { // which publishes no rules that could be followed
		return nil
	}
	var named struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(x.Body, &named)
	m, _ := s.rules.model(named.Model)
	p := &prompt{bytesPerToken: cmp.Or(max(m.TokenBytes, 0), 4), sum: sha256.New()}
	p.note(string(x.Dialect), string(s.account()), named.Model)
	switch {
	case x.Dialect == Messages:
		p.messages(x.Body, thinkingIsStripped(named.Model))
	case x.Dialect == Chat && bytes.Contains(x.Body, []byte(`"cache_control"`)): // Claude, behind OpenRouter
		p.chat(x.Body)
	default:
		return s.caches.openAI(p, named.Model, x)
	}
	return s.caches.anthropic(p, leastOfClaude(named.Model), x.At)
}

// prompt is a request as a cache sees it: the parts that the model reads, in its order.
type prompt struct {
	bytesPerToken int
	sum           hash.Hash // of all so far
	rendered      bytes.Buffer
	pieces        []promptPiece
}

// promptPiece is a part of the prompt that a cache may end behind.
type promptPiece struct {
	digest digest        // of all up to its end
	tokens int64         // up to its end
	mark   time.Duration // lifetime of the entry that a breakpoint here writes; 0: no breakpoint
	latest bool          // a user's or a tool's message
	run    string        // it counts as one with its neighbours of the same run
}

// note adds parts that are not text of the prompt, but must be equal for a cache hit.
func (p *prompt) note(parts ...string) {
	for _, part := range parts {
		p.sum.Write([]byte(part))
		p.sum.Write([]byte{0})
	}
}

// add adds a piece of the prompt: a JSON object. The model does not read its breakpoint,
// if it has one.
func (p *prompt) add(role string, raw json.RawMessage) *promptPiece {
	var mark time.Duration
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) == nil && o != nil {
		mark = max(lifeOf(o["cache_control"]), lifeOfGPT(o["prompt_cache_breakpoint"]))
		delete(o, "cache_control")
		delete(o, "prompt_cache_breakpoint")
		raw = encode(o)
	}
	p.note(role)
	p.sum.Write(raw)
	p.note("")
	p.rendered.WriteString(role)
	p.rendered.Write(raw)
	piece := promptPiece{tokens: p.tokens(), mark: mark}
	p.sum.Sum(piece.digest[:0])
	p.pieces = append(p.pieces, piece)
	return &p.pieces[len(p.pieces)-1]
}

// tokens returns the number of tokens so far.
func (p *prompt) tokens() int64 { return int64(p.rendered.Len() / p.bytesPerToken) }

// lifeOf returns the lifetime of the entry that an Anthropic breakpoint writes; 0 if raw is not a
// breakpoint.
func lifeOf(raw json.RawMessage) time.Duration {
	var mark struct{ Type, TTL string }
	switch {
	case raw == nil || json.Unmarshal(raw, &mark) != nil || mark.Type == "":
		return 0
	case mark.TTL == "1h":
		return time.Hour
	}
	return 5 * time.Minute
}

// lifeOfGPT returns the same for a breakpoint of OpenAI.
func lifeOfGPT(raw json.RawMessage) time.Duration {
	if !isObject(raw) {
		return 0
	}
	return lifeOfBreak
}

// contentBlocks returns the blocks of a content: the elements of an array, or a text as
// one block.
func contentBlocks(content json.RawMessage) []json.RawMessage {
	if elements, ok := list(content); ok {
		return elements
	}
	if s, ok := text(content); ok {
		return []json.RawMessage{encode(object{"type": "text", "text": s})}
	}
	return nil
}
