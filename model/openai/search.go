package openai

import (
	"encoding/json"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// sources emits the pages that a message, which is complete, cites.
func sources(message []byte, emit transport.Emit) {
	var m struct {
		Content []struct {
			Annotations []struct {
				Type  string `json:"type"`
				URL   string `json:"url"`
				Title string `json:"title"`
			} `json:"annotations"`
		} `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return // the answer is useful without them
	}
	for _, part := range m.Content {
		for _, a := range part.Annotations {
			if a.Type == "url_citation" {
				emit(model.Chunk{Kind: model.Source, Text: a.URL, Name: a.Title})
			}
		}
	}
}
