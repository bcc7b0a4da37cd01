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
	list, err := endpoint.Models(ctx, transport.Request{Path: modelsPath})
	if err != nil {
		return 0, err
	}
	for _, m := range list {
		if m.ID == name {
			return m.Window, nil
		}
	}
	if len(list) > 0 {
		return 0, model.NewError(model.ErrNotFound, "the server has no model %q", name)
	}
	return 0, nil
}

const modelsPath = "/models"

// Models asks the server which models it has.
func Models(ctx context.Context, endpoint transport.Endpoint) ([]transport.Listed, error) {
	return endpoint.Models(ctx, transport.Request{Path: modelsPath})
}
