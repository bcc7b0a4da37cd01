package openai

import (
	"context"

	"github.com/settle-agent/settle/model/transport"
)

// Models asks the API which models it has.
func Models(ctx context.Context, endpoint transport.Endpoint) ([]transport.Listed, error) {
	return endpoint.Models(ctx, transport.Request{Path: "/models"})
}
