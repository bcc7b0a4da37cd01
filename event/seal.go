package event

// Seal is what a provider attached to an item: the token by which it recognises
// its own reasoning, the phase of a message, the thought signature of a call.
// Only the wire format that made it reads it. It goes back unaltered, to the
// provider and model that sent it, or not at all.
type Seal struct {
	// Format is one of the constants, or another that a provider of yours made.
	Format string `json:"format"`
	Data   string `json:"data"`
}

// The formats of the wires.
const (
	SealSignature = "signature" // Messages: of a thinking block
	SealRedacted  = "redacted"  // Messages: a thinking block that nobody else can read
	SealUnsigned  = "unsigned"  // Messages: a thinking block that came whole without a signature
	SealBlock     = "block"     // Messages: a content block that only the API reads
	SealEncrypted = "encrypted" // Responses: encrypted_content of reasoning
	SealItem      = "item"      // Responses: an output item that only the API reads
	SealPhase     = "phase"     // Responses: the phase of a message
	SealDetails   = "details"   // Chat Completions: reasoning_details
	SealField     = "field"     // Chat Completions: the field that the reasoning came in
	SealMembers   = "members"   // Chat Completions: what the server added to a call
	SealAttached  = "attached"  // Chat Completions: what it added after its call or text
	SealThought   = "thought"   // Gemini: the thought signature of a part
)

// Binds reports whether the seal is about the very text of the item: it is void
// once the text was changed.
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
