package chat

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// dialect are a server's rules for a conversation beyond OpenAI's API. A server refused a
// real conversation permanently for a breach of each rule; modeltest.ProviderRules names
// the reports.
type dialect struct {
	// nine: call ids have exactly nine letters and digits (Mistral).
	nine bool
	// bridge: an assistant message stands between a tool's and a user's (Mistral).
	bridge bool
	// thinks: an assistant message has reasoning_content (DeepSeek; Moonshot if it calls).
	thinks bool
	// mute: no message has reasoning (Groq).
	mute bool
	// signed: the first call of a message has a thought signature (Gemini).
	signed bool
	// filled: a message that only calls has empty content, not none (xAI).
	filled bool
	// cached: parts have cache_control, without which nothing is cached (Claude behind OpenRouter).
	cached bool
}

// Dialects returns the names that [Options].Dialect takes.
func Dialects() []string {
	return []string{"openai", "mistral", "deepseek", "moonshot", "gemini", "groq", "xai", "openrouter"}
}

// dialectOf returns the dialect of a server: the configured one, or the dialect of its
// host. The server's earlier responses and the family of the model, whose template is the
// same on each server, add to it.
func dialectOf(name, host string, req model.Request) dialect {
	if name == "" {
		name = transport.DialectOf(host).Name
	}
	full := strings.ToLower(req.Model)
	base := full[strings.LastIndexByte(full, '/')+1:]
	var d dialect
	switch name {
	case "openai": // nothing is guessed
		return d
	case "mistral":
		d.nine, d.bridge = true, true
	case "deepseek":
		d.thinks = base != "deepseek-chat" // which does not think
	case "moonshot":
		d.thinks = true
	case "gemini":
		d.signed = true
	case "groq":
		d.mute = true
	case "xai":
		d.filled = true
	case "openrouter":
		d.cached = strings.HasPrefix(full, "anthropic/")
	}
	if slices.ContainsFunc(
		[]string{"mistral", "ministral", "magistral", "devstral", "codestral", "mixtral", "pixtral"},
		func(family string) bool {
			return strings.HasPrefix(base, family)
		},
	) {
		d.nine, d.bridge = true, true
	}
	d.learn(base, req.Input)
	return d
}

// learn adds the requirements that the server's own items show.
func (d *dialect) learn(name string, items []model.Item) {
	for _, item := range items {
		switch {
		case item.Role == model.Call && nineLetters(item.CallID) && !strings.HasPrefix(item.CallID, "x0"): // which are ours
			d.nine, d.bridge = true, true
		case item.Signature == nil:
		case item.Role == model.Call && strings.Contains(item.Signature.Data, `"thought_signature"`):
			d.signed = true
		case item.Signature.Format == event.SignatureField && item.Signature.Data == fieldContent:
			d.thinks = d.thinks || strings.Contains(name, "deepseek") || strings.Contains(name, "kimi")
		}
	}
}

// The texts that stand where a dialect demands one and there is none.
const (
	textBridge   = "Understood."
	textNotKept  = "(not kept)"
	noSignature  = `{"google":{"thought_signature":"skip_thought_signature_validator"}}` // https://ai.google.dev/gemini-api/docs/thought-signatures#faqs
	maxCacheMark = 2
)

// apply changes the messages as the dialect requires.
func (d dialect) apply(list []message) []message {
	var out []message
	for i, m := range list {
		if d.bridge && m.Role == "user" && i > 0 && list[i-1].Role == "tool" {
			out = append(out, message{Role: "assistant", Content: textBridge})
		}
		if d.nine {
			m.ToolCallID = nineOf(m.ToolCallID)
			for n := range m.ToolCalls {
				m.ToolCalls[n].ID = nineOf(m.ToolCalls[n].ID)
			}
		}
		if d.thinks && m.Role == "assistant" && m.ReasoningContent == "" {
			m.ReasoningContent = textNotKept
		}
		if len(m.ToolCalls) > 0 {
			d.call(&m)
		}
		out = append(out, m)
	}
	if d.cached {
		markCache(out)
	}
	return out
}

// call changes a message with calls as the dialect requires.
func (d dialect) call(m *message) {
	if d.filled && m.Content == nil {
		m.Content = ""
	}
	if first := &m.ToolCalls[0]; d.signed && first.members["extra_content"] == nil {
		first.members.add(members{"extra_content": []byte(noSignature)})
	}
}

// markCache sets breakpoints, of which Claude takes four: at the system prompt
// and at the last texts of user and model. OpenRouter takes none at a tool's
// message (https://github.com/earendil-works/pi/pull/584), so that each step would send a
// chain of calls uncached: the fourth breakpoint is the request's own, after its last
// message (https://openrouter.ai/docs/guides/best-practices/prompt-caching).
func markCache(list []message) {
	left := maxCacheMark
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		if m.Role == "tool" || m.Role != "system" && left == 0 {
			continue
		}
		if text, ok := m.Content.(string); ok && strings.TrimSpace(text) != "" {
			m.Content = []part{{Type: "text", Text: text}}
		}
		parts, _ := m.Content.([]part)
		if n := len(parts); n > 0 {
			parts = slices.Clone(parts)
			parts[n-1].CacheControl = &cacheControl{"ephemeral"}
			m.Content = parts
			left--
		}
	}
}

func nineLetters(id string) bool {
	return len(id) == 9 && strings.IndexFunc(id, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}) < 0
}

// nineOf returns the id if it has nine letters and digits, else one that has
// and that is the same whenever the id is.
func nineOf(id string) string {
	if id == "" || nineLetters(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:9]
}
