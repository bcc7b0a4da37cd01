package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/settle-agent/settle/event"
)

// Provider streams responses of a language model.
//
// Stream sends one request and yields its response in chunks. The last pair
// is either a chunk of kind [End] with a nil error, or a zero chunk with an
// error, which is an [*Error] if the fault is known. A sequence that ends without
// either is a truncated response. When ctx is cancelled, the provider closes the
// connection, and the sequence ends soon with context.Cause(ctx); the turn does not wait
// for that. Several goroutines can call Stream at the same time.
type Provider interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Locator is implemented by providers that know the address of their requests, for the diagnosis of
// requests without a response.
type Locator interface {
	// URL returns the address of requests, without userinfo and query.
	URL() string
}

// Types that the log has too.
type (
	Usage             = event.Usage
	ProviderSignature = event.ProviderSignature
	Image             = event.Image
	Document          = event.Document

	Tokens = event.Tokens
)

// NoCount in a [Usage] of a chunk replaces a reported count that is not a number of tokens: it is
// negative, not whole, or not a number. The turn estimates such a usage.
const NoCount = -1

// ConcurrencyLimiter is an optional interface of a Provider that bounds the number of concurrent requests. A turn
// calls Enter before each attempt, and leave when the attempt's stream has ended. The wait in Enter
// is not part of the attempt, and not a stall. If ctx ends first, Enter returns context.Cause(ctx).
type ConcurrencyLimiter interface {
	Enter(ctx context.Context) (leave func(), err error)
}

// Request is one model request, the same for every provider.
type Request struct {
	// Model is the provider's own name for the model.
	Model string
	// System is the system prompt.
	System string
	// Input is the conversation, oldest first. history.Request builds it so
	// that every provider accepts it (C6).
	Input []Item
	// Tools are the tools that the model can call, in a fixed order.
	Tools []ToolSpec
	// MaxTokens bounds the output; 0 leaves it to the provider, or to the
	// model's largest output where the wire format demands a number.
	MaxTokens int
	// Effort is the requested amount of reasoning: "", "none", "minimal", "low",
	// "medium", "high", "xhigh" or "max"; providers map it to their own levels.
	Effort string
	// Schema, if set, is a JSON Schema, an object, that the model's text is to
	// follow, as strictly as the provider can have it.
	Schema json.RawMessage
	// NoCalls requests a text answer: the tools are present only so that the request
	// keeps its prefix (C21). Providers pass this on if it does not cost the cache; the
	// response can still contain a call.
	NoCalls bool
	// Search requests a web search for the input by the provider's own tool; Tools are
	// empty. The sources arrive as chunks of kind Source. Providers without such a tool
	// fail.
	Search bool
	// CacheKey is stable for a session, for providers that route by one.
	CacheKey string
	// Activity, if set, is called whenever bytes arrive: first for the response's
	// headers, then for every read of its body, on the reading goroutine. It must return
	// at once.
	Activity func()
	// Secret, if set, is called with the key that the request is to carry,
	// before it does: keys change while a program runs.
	Secret func(key string)
}

// Role is the role of an Item of the conversation.
type Role string

// The roles.
const (
	User      Role = "user"      // text and images of a person, or a note of settle
	Assistant Role = "assistant" // text of the model
	Reasoning Role = "reasoning" // thinking of the model; also a Signature without text, which only its provider reads
	Call      Role = "call"      // a tool call of the model
	Output    Role = "output"    // result of a tool call
)

// Item is one entry of the conversation.
type Item struct {
	Role   Role
	Text   string  // user, assistant, reasoning; output: the tool's result
	Images []Image // user
	// Documents are PDFs of a user, for models with [Traits.DocumentPages].
	Documents []Document
	// ID is the provider's id of the item, if this provider made it.
	ID string
	// CallID joins a call with its output; unique in a request. It is as the
	// request's provider and model made it, else nine letters and digits.
	CallID    string
	Name      string             // call: the tool
	Arguments string             // call: JSON object
	Failed    bool               // output: the call failed or was aborted
	Signature *ProviderSignature // reasoning, assistant, call: opaque data of this provider
}

// ToolSpec describes a tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema json.RawMessage
	// Grammar, if set, asks for free text instead of JSON where the wire
	// format has custom tools; others use Schema.
	Grammar string
	// Deferred, if set, defers the tool: the provider shows it to the model only as a search
	// result. The value names the group of the tool. It is sent only to models with
	// [Traits.ToolSearch].
	Deferred string
}

// ChunkKind is the kind of a Chunk.
type ChunkKind uint8

// The kinds of chunks.
const (
	// Start: the provider accepted the request. ID is the response's.
	Start ChunkKind = iota + 1
	// ItemStart: item Index begins: Role (Assistant, Reasoning or Call), ID,
	// and for a call CallID and Name, as far as they are known.
	ItemStart
	// Delta: Text continues item Index. Deltas together are the whole text.
	Delta
	// ItemEnd: item Index is complete. ID, CallID, Name and Signature are final.
	ItemEnd
	// ItemDrop: item Index, a call, remains incomplete although the response continues:
	// the call is void.
	ItemDrop
	// Ping: the wire is alive; no progress.
	Ping
	// UsageReport: Usage so far, replacing earlier reports.
	UsageReport
	// End: the provider's terminal event. Stop is the stop reason, Usage is final if set.
	End
	// Source: a page that a search found, at the address Text with the title Name.
	// Only where the request asked for a search.
	Source
	// TokenReport: Tokens are the next ones, where the provider reports them.
	TokenReport
)

// Chunk is one piece of a response. Items may be interleaved; Index is unique
// within the response and grows in the order in which items begin.
type Chunk struct {
	Kind      ChunkKind
	Role      Role
	Index     int
	Text      string
	ID        string
	CallID    string
	Name      string
	Signature *ProviderSignature
	Usage     *Usage
	Tokens    *Tokens
	Stop      StopReason
}

// StopReason is the reason why a model stopped, normalised.
type StopReason string

// The stop reasons.
const (
	StopEndTurn   StopReason = "end_turn"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
	StopSequence  StopReason = "stop_sequence"
	// StopPause: the provider paused a long response and wants it sent back.
	StopPause StopReason = "pause_turn"
	// StopFilter: a content filter cut the response.
	StopFilter StopReason = "content_filter"
)
