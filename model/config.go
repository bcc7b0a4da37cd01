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
	// Traits are what is known of the model; the zero value is safe.
	Traits
	// Price is what the model costs; nil if it is not known.
	Price *Price
	// Fallback, if set, is the model of the rest of a turn after this one was overloaded, or
	// after its retries were exhausted. It has a retry budget of its own. The next turn
	// begins with this model again.
	Fallback *Config
	// Effort is how much the model is to think; see [Request].
	Effort string
	// Prompt names the model's system prompt among the session's; "" for the
	// one that suits every model.
	Prompt string
	// Timeouts are how long a stream may go without what it should bring.
	Timeouts Timeouts
	// Limiter is shared by sessions that use the same provider key; nil shares
	// one with the sessions of the host that have the same Provider.
	Limiter *Limiter
	// Secrets, such as the key, are masked in all events; secrets shorter than 16
	// characters are not masked. Secrets that a Provider announces by Request.Secret
	// need not be included.
	Secrets []string
}

// FullName is the model as settings name it: PROVIDER/NAME.
func (c Config) FullName() string { return c.ProviderName + "/" + c.Name }

// Traits are what is known of a model and its wire format.
type Traits struct {
	// Window is how many tokens the model can hold, output included; 0 if
	// unknown: nothing is shortened then until the provider refuses it.
	Window int
	// MaxOutput is the most tokens that the model can put out; 0 if unknown.
	MaxOutput int
	// NoImages says that the model cannot see: images become a line of text.
	NoImages bool
	// DocumentPages is how many pages of a PDF the model reads; 0 means that it receives
	// the text of a PDF instead.
	DocumentPages int
	// PageTokens is how many tokens such a page has, image and text; 0 if unknown.
	PageTokens int
	// TextAfterCalls says that the wire format lets text follow a call within
	// one response.
	TextAfterCalls bool
	// ReasoningField says that reasoning is a field of the whole response: it
	// goes back wherever it stood, signed or not, with what else goes back.
	ReasoningField bool
	// Family names the tools that the model was trained on (package tool/family);
	// empty leaves all tools unchanged.
	Family string
	// Offer says which of the session's tools it is offered: "" those that suit its
	// family, "all" every one.
	Offer string
	// ToolSearch reports that the provider searches tools for the model, which receives
	// deferred tools only as search results.
	ToolSearch bool
	// RefusalSticks says that a response that was cut by a refusal is refused
	// again for as long as what it was about is in the conversation.
	RefusalSticks bool
}

// Timeouts are how long a stream may go without what it should bring (C12). For
// each, 0 means the default and a negative duration turns it off. Waiting for
// a tool or a person is outside all of them: no stream is open then.
type Timeouts struct {
	// Header bounds the time until headers and the first progress: 10 minutes.
	Header time.Duration
	// Stall bounds silence on the wire, and the lack of progress while text
	// or arguments are coming: 3 minutes. If it is set, it bounds the others
	// too, unless they are set.
	Stall time.Duration
	// Thinking bounds the lack of progress while keep-alives arrive and the
	// model may be thinking unseen: 15 minutes.
	Thinking time.Duration
	// Attempt bounds a whole response, also one that gets on: 1 hour. Stall
	// does not bound it.
	Attempt time.Duration
}
