package anthropic

import (
	"context"
	"net/http"

	"github.com/settle-agent/settle/model/transport"
)

// Models asks the API which models it has.
func Models(ctx context.Context, endpoint transport.Endpoint) ([]transport.Listed, error) {
	return endpoint.Models(
		ctx,
		transport.Request{
			Path:      "/v1/models",
			Header:    http.Header{"Anthropic-Version": {version}},
			Authorize: authorize,
		},
	)
}

func authorize(h http.Header, key string) { h.Set("X-Api-Key", key) }
