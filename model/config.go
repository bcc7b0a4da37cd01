package model

import "time"

// Config is a model as sessions use it: its provider and its known properties. Provider
// and Name must be set. The providers of this module create one from the catalogue:
//
//	openai.New(openai.Options{…}).Model("gpt-5.2")
type Config struct {
	// Provider streams the model's responses, and ProviderName names it in
	// events.
	Provider     Provider
	ProviderName string
	// Name is the provider's name for the model.
	Name string
	// Traits are the known properties of the model; the zero value is safe.
	Traits
	// Price is the provider's price for the model; nil if unknown.
	Price *Price
	// Fallback, if set, is the model of the rest of a turn after this one was overloaded, or
	// after its retries were exhausted. It has a retry budget of its own. The next turn
	// begins with this model again.
	Fallback *Config
	// Effort is the requested amount of reasoning; see [Request].
	Effort string
	// Prompt is the name of the model's system prompt among the session's prompts; "" means the
	// prompt for all models.
	Prompt string
	// Timeouts bound the waits for the parts of a stream, and a whole response.
	Timeouts Timeouts
	// Limiter is shared by sessions that use the same provider key. If it is nil, all sessions of
	// the host with the same Provider share one.
	Limiter *Limiter
	// Secrets, such as the key, are masked in all events; secrets shorter than 16
	// characters are not masked. Secrets that a Provider announces by Request.Secret
	// need not be included.
	Secrets []string
}

// FullName returns the name of the model in settings: PROVIDER/NAME.
func (c Config) FullName() string { return c.ProviderName + "/" + c.Name }

// Traits are the known properties of a model and its wire format.
type Traits struct {
	// Window is the maximum number of tokens of a request and its response together; 0 if unknown.
	// If it is 0, nothing is shortened until the provider refuses a request.
	Window int
	// MaxOutput is the maximum number of output tokens; 0 if unknown.
	MaxOutput int
	// NoImages reports that the model does not accept images: a line of text replaces each image.
	NoImages bool
	// DocumentPages is the maximum number of pages of a PDF that the model reads; 0 means that it
	// receives the text of a PDF instead.
	DocumentPages int
	// PageTokens is the number of tokens of such a page, image and text; 0 if unknown.
	PageTokens int
	// TextAfterCalls reports that the wire format allows text after a call within one response.
	TextAfterCalls bool
	// ReasoningField reports that reasoning is a field of the whole response. Later requests
	// include it at any position, signed or unsigned, together with the rest of the response.
	ReasoningField bool
	// Family is the family of tools that the model was trained on (package tool/family); empty
	// leaves all tools unchanged.
	Family string
	// Offer selects the tools of the session that the model receives: "" selects the tools that
	// suit its family, "all" selects all tools.
	Offer string
	// ToolSearch reports that the provider searches tools for the model, which receives
	// deferred tools only as search results.
	ToolSearch bool
	// RefusalSticks reports that a refusal repeats: if a refusal cut a response, the model refuses
	// again as long as the refused subject is in the conversation.
	RefusalSticks bool
}

// Timeouts bound the waits for the parts of a stream, and a whole response (C12). For each, 0 means
// the default and a negative duration turns it off. Waiting for a tool or a person is outside all
// of them: no stream is open then.
type Timeouts struct {
	// Header bounds the time until headers and the first progress: 10 minutes.
	Header time.Duration
	// Stall bounds silence on the wire, and the lack of progress while text or arguments are
	// coming: 3 minutes. If it is set, it also bounds Header and Thinking where these are not set.
	Stall time.Duration
	// Thinking bounds the lack of progress while keep-alives arrive and the
	// model may be thinking unseen: 15 minutes.
	Thinking time.Duration
	// Attempt bounds a whole response, also one that gets on: 1 hour. Stall
	// does not bound it.
	Attempt time.Duration
}
