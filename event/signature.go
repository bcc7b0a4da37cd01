package event

// ProviderSignature is opaque data that a provider attached to an item, such as
// the token by which it recognizes its own reasoning, the phase of a message, or the
// thought signature of a call. Only the wire format that made a signature reads it.
// settle returns it unaltered, to the same provider and model only.
type ProviderSignature struct {
	// Format is one of the constants, or the format of a custom provider.
	Format string `json:"format"`
	Data   string `json:"data"`
}

// The formats of the wires.
const (
	SignatureThinking  = "signature" // Messages: of a thinking block
	SignatureRedacted  = "redacted"  // Messages: a redacted thinking block, which only the API reads
	SignatureUnsigned  = "unsigned"  // Messages: a complete thinking block without a signature
	SignatureBlock     = "block"     // Messages: a content block that only the API reads
	SignatureEncrypted = "encrypted" // Responses: encrypted_content of reasoning
	SignatureItem      = "item"      // Responses: an output item that only the API reads
	SignaturePhase     = "phase"     // Responses: the phase of a message
	SignatureDetails   = "details"   // Chat Completions: reasoning_details
	SignatureField     = "field"     // Chat Completions: the name of the field that had the reasoning
	SignatureMembers   = "members"   // Chat Completions: members that the server added to a call
	SignatureAttached  = "attached"  // Chat Completions: members that the server added after a call or text
	SignatureThought   = "thought"   // Gemini: the thought signature of a part
)

// Binds reports whether the signature covers the text of the item, so that a change of
// the text invalidates it.
func (s *ProviderSignature) Binds() bool {
	if s == nil {
		return false
	}
	switch s.Format {
	case SignatureField, SignaturePhase, SignatureMembers, SignatureThought:
		return false
	}
	return true
}
