package chat

import (
	"context"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// Window asks the server for the model's context window, by one GET of
// /models. It returns 0 if the server does not say: vLLM does (max_model_len),
// OpenRouter (context_length), Groq (context_window) and llama.cpp
// (meta.n_ctx) too, OpenAI does not.
//
// Nothing in this package calls it. The wiring does, for a custom base URL and
// a model that is not in the table.
func Window(ctx context.Context, endpoint transport.Endpoint, name string) (int, error) {
	var list struct {
		Data []struct {
			ID            string `json:"id"`
			MaxModelLen   int    `json:"max_model_len"`
			ContextLength int    `json:"context_length"`
			ContextWindow int    `json:"context_window"`
			Meta          struct {
				Context int `json:"n_ctx"`
				Trained int `json:"n_ctx_train"`
			} `json:"meta"`
		} `json:"data"`
	}
	endpoint = endpoint.Prepared()
	if err := endpoint.Get(ctx, "/models", &list); err != nil {
		return 0, err
	}
	for _, m := range list.Data {
		if m.ID != name {
			continue
		}
		for _, window := range []int{m.MaxModelLen, m.ContextLength, m.ContextWindow, m.Meta.Context, m.Meta.Trained} {
			if window > 0 {
				return window, nil
			}
		}
		return 0, nil
	}
	if len(list.Data) > 0 {
		return 0, model.NewError(model.ErrNotFound, "the server has no model %q", name)
	}
	return 0, nil
}
