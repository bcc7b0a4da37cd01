package gemini

import (
	"encoding/json"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// sources emits the pages of a candidate's groundingMetadata
// (https://ai.google.dev/api/generate-content#GroundingMetadata). Their addresses lead
// to the pages through Google.
func sources(metadata []byte, emit transport.Emit) {
	var m struct {
		GroundingChunks []struct {
			Web struct {
				URI   string `json:"uri"`
				Title string `json:"title"`
			} `json:"web"`
		} `json:"groundingChunks"`
	}
	if metadata == nil || json.Unmarshal(metadata, &m) != nil {
		return // the answer is useful without them
	}
	for _, c := range m.GroundingChunks {
		if c.Web.URI != "" {
			emit(model.Chunk{Kind: model.Source, Text: c.Web.URI, Name: c.Web.Title})
		}
	}
}
