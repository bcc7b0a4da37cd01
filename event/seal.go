package event

// Seal is a provider signature: opaque data that a provider attached to an item, such as
// the token by which it recognizes its own reasoning, the phase of a message, or the
// thought signature of a call. Only the wire format that made a signature reads it.
// settle returns it unaltered, to the same provider and model only.
type Seal struct {
	// Format is one of the constants, or the format of a custom provider.
	Format string `json:"format"`
	Data   string `json:"data"`
}

// The formats of the wires.
const (
	SealSignature = "signature" // Messages: of a thinking block
	SealRedacted  = "redacted"  // Messages: a redacted thinking block, which only the API reads
	SealUnsigned  = "unsigned"  // Messages: a complete thinking block without a signature
	SealBlock     = "block"     // Messages: a content block that only the API reads
	SealEncrypted = "encrypted" // Responses: encrypted_content of reasoning
	SealItem      = "item"      // Responses: an output item that only the API reads
	SealPhase     = "phase"     // Responses: the phase of a message
	SealDetails   = "details"   // Chat Completions: reasoning_details
	SealField     = "field"     // Chat Completions: the name of the field that had the reasoning
	SealMembers   = "members"   // Chat Completions: members that the server added to a call
	SealAttached  = "attached"  // Chat Completions: members that the server added after a call or text
	SealThought   = "thought"   // Gemini: the thought signature of a part
)

// Binds reports whether the signature covers the text of the item, so that a change of
// the text invalidates it.
func (s *Seal) Binds() bool {
	if s == nil {
		return false
	}
	switch s.Format {
	case SealField, SealPhase, SealMembers, SealThought:
		return false
	}
	return true
}
