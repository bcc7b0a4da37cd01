package openai

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// opaque reports whether items of the type are kept and sent back unchanged: actions of the API
// itself, such as a search. Reasoning before such an item is refused without it ("provided without
// its required following item"). Items that request an action of the client are not opaque.
func opaque(kind string) bool {
	switch kind {
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"mcp_call", "mcp_list_tools", "tool_search_call", "tool_search_output", "compaction":
		return true
	}
	return false
}

// signature returns the fields that the API added to a complete item, or nil.
func (w *wireItem) signature() *model.ProviderSignature {
	switch {
	case w.Type == "reasoning" && len(w.Content) > 0: // DeepSeek, LM Studio, Bedrock: the thinking itself
		return &model.ProviderSignature{Format: event.SignatureItem, Data: without(w.raw, "status")}
	case w.Type == "reasoning" && w.EncryptedContent != "":
		return &model.ProviderSignature{Format: event.SignatureEncrypted, Data: w.EncryptedContent}
	case w.Type == "message" && w.Phase != "":
		return &model.ProviderSignature{Format: event.SignaturePhase, Data: w.Phase}
	case w.Type == "function_call", w.Type == "custom_tool_call":
		// Such as namespace and caller.
		members := without(w.raw, "type", "id", "call_id", "name", "arguments", "input", "status")
		if members != "{}" {
			return &model.ProviderSignature{Format: event.SignatureMembers, Data: members}
		}
	case w.own:
		return &model.ProviderSignature{Format: event.SignatureItem, Data: string(w.raw)}
	}
	return nil
}

// without returns the object without the named members and without null members.
func without(object []byte, names ...string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return "{}"
	}
	for _, name := range names {
		delete(members, name)
	}
	for name, value := range members {
		if string(value) == "null" {
			delete(members, name)
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		return "{}" // decoded JSON can be encoded
	}
	return string(data)
}
