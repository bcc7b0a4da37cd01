package transport

import (
	"context"
	"encoding/json"
	"io"

	"github.com/settle-agent/settle/model"
)

// maxGet is the longest answer that Get reads.
const maxGet = 16 << 20

// Get asks for path and decodes the JSON answer into v.
func (e *Endpoint) Get(ctx context.Context, path string, v any) error {
	return e.get(ctx, Request{Path: path}, v)
}

func (e *Endpoint) get(ctx context.Context, r Request, v any) error {
	r.Accept = "application/json"
	resp, err := e.do(ctx, &r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxGet)).Decode(v); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return withURL(
			model.NewError(model.ErrMalformed, "cannot read the answer: %w", err), publicURL(resp.Request.URL),
		)
	}
	return nil
}
