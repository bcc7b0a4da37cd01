// Package catalog is a small table of models: how much they take and give,
// and how they are asked to think. Providers look models up to speak to them
// rightly, the wiring to know the window and to choose a default.
//
// The figures are of November 2026, from
// https://platform.claude.com/docs/about-claude/models/overview,
// https://developers.openai.com/api/docs/models and
// https://ai.google.dev/gemini-api/docs/models. A model that is not in the
// table works too, with cautious assumptions, and every entry can be
// overridden: see [Table.With].
//
// Files:
//
//   - models.go: known models, their windows and abilities
//   - prices.go: known prices
//   - family.go: which tools a model was trained on
package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/model"
)

// Thinking is the form in which a request enables a model's thinking.
type Thinking string

// The ways to ask.
const (
	// NoThinking: it does not think, or cannot be asked to.
	NoThinking Thinking = ""
	// ByEffort: by a named effort alone (OpenAI's reasoning models, Gemini from 3).
	ByEffort Thinking = "effort"
	// ByBudget: by a number of tokens (Claude up to 4.5, Gemini 2.5).
	ByBudget Thinking = "budget"
	// Adaptive: the model decides, guided by an effort; requests can disable thinking
	// (Claude from 4.6).
	Adaptive Thinking = "adaptive"
	// AdaptiveBetween: the same, but the least is thinking between tool calls
	// (Claude Sonnet 5.5).
	AdaptiveBetween Thinking = "adaptive_between"
	// AdaptiveAlways: the same, but requests cannot disable thinking.
	AdaptiveAlways Thinking = "adaptive_always"
)

// Model holds the known properties of a model. A number of 0 is unknown, unless its comment says
// otherwise.
type Model struct {
	// Window is the maximum number of tokens of a request and its response together.
	Window int
	// MaxOutput is the maximum number of tokens of a response, thinking included.
	MaxOutput int
	// Images reports that the model accepts images.
	Images bool
	// DocumentPages is the maximum number of pages of a PDF that the model reads as a document; 0
	// if it reads no documents.
	DocumentPages int
	// PageTokens is the number of tokens of a page of such a PDF; 0 if unknown.
	PageTokens int
	Thinking   Thinking
	// Efforts are the reasoning efforts that the model accepts, lowest first.
	Efforts []string
	// Interleaved reports that thinking between tool calls must be requested with a beta header.
	Interleaved bool
	// BoundThinking reports that the API refuses a thinking block if anything before it has changed
	// since the block was made.
	BoundThinking bool
	// Family is the family of tools that the model was trained on: "gpt" or "claude"; empty if
	// unknown.
	Family string
	// Grammar reports that the model accepts custom tools, whose input is free text.
	Grammar bool
	// ToolSearch reports that the API of the model's maker searches deferred tools for the model.
	ToolSearch bool
}

// Efforts returns the efforts of thinking, from the lowest.
func Efforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} }

// Effort returns the model's effort that is nearest to the requested effort, the lower of
// two. It returns "" if no effort was requested, and the requested effort if the model's
// efforts are unknown.
func (m Model) Effort(requested string) string {
	order := Efforts()
	want := slices.Index(order, requested)
	if want < 0 || len(m.Efforts) == 0 || slices.Contains(m.Efforts, requested) {
		return requested
	}
	best, distance := "", len(order)
	for _, effort := range m.Efforts {
		if d := abs(slices.Index(order, effort) - want); d < distance {
			best, distance = effort, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// Table holds models by name. A dated or otherwise extended name
// ("claude-opus-4-5-20251101") finds the longest entry that it begins with.
type Table map[string]Model

// Lookup returns the model with the name. The name may have a vendor's prefix
// ("anthropic/claude-opus-5-5"), also as Amazon Bedrock writes it ("us.anthropic.claude-opus-4-8").
func (t Table) Lookup(name string) (Model, bool) {
	name = strings.ToLower(name)
	for _, vendor := range []string{"anthropic.", "openai.", "google."} {
		if before, rest, found := strings.Cut(name, vendor); found && !strings.ContainsAny(before, "/-") {
			name = rest
		}
	}
	for {
		if m, ok := t.lookup(name); ok {
			return m, true
		}
		_, rest, found := strings.Cut(name, "/")
		if !found {
			return Model{}, false
		}
		name = rest
	}
}

// Traits returns the properties of the model with the name that sessions need, behind any API.
func (t Table) Traits(name string) model.Traits {
	known, isKnown := t.Lookup(name)
	return model.Traits{
		Window: known.Window, MaxOutput: known.MaxOutput, NoImages: isKnown && !known.Images,
		DocumentPages: known.DocumentPages, PageTokens: known.PageTokens, ToolSearch: known.ToolSearch,
	}
}

func (t Table) lookup(name string) (Model, bool) {
	if m, ok := t[name]; ok {
		return m, true
	}
	best := ""
	for key := range t {
		if len(key) > len(best) && strings.HasPrefix(name, key) && strings.ContainsRune("-@:[", rune(name[len(key)])) &&
			!sibling(name[len(key):]) {
			best = key
		}
	}
	m, ok := t[best]
	return m, ok && best != ""
}

// sibling reports whether the rest of a name after an entry's name makes it another model: "-5"
// after "claude-opus-5", but not a date.
func sibling(rest string) bool {
	word, _, _ := strings.Cut(rest[1:], "-")
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(word) > 0 && len(word) < 4
}

// With returns t with the entries of other, which replace entries of the same name.
func (t Table) With(table Table) Table {
	joined := maps.Clone(t)
	if joined == nil {
		joined = Table{}
	}
	maps.Copy(joined, table)
	return joined
}

// Default returns the model that is used where none was named, by the
// provider's name; "" if there is none.
func Default(provider string) string {
	switch provider {
	case "anthropic":
		return "claude-opus-5-5"
	case "openai":
		return "gpt-6.1-sol"
	case "gemini":
		return "gemini-3.8-flash"
	}
	return ""
}
