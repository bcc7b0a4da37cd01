package transport

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
)

// Options are the options of a provider: its address and its table of models.
type Options struct {
	Endpoint
	// Models is the table of models; nil means catalog.Builtin().
	Models catalog.Table
}

// WithDefaults returns the options with a base URL, a table of models and a prepared
// endpoint; see [Endpoint.Prepared].
func (o Options) WithDefaults(baseURL string) Options {
	if o.BaseURL == "" {
		o.BaseURL = baseURL
	}
	if o.Models == nil {
		o.Models = catalog.Builtin()
	}
	o.Endpoint = o.Prepared()
	return o
}

// Post sends content as JSON, with Extra merged in, and is otherwise as [Endpoint.Stream].
func (e *Endpoint) Post(ctx context.Context, content any, r *Request, dec Decoder) iter.Seq2[model.Chunk, error] {
	var err error
	if r.Body, err = Body(content, e.Extra); err != nil {
		return Failed(err)
	}
	return e.Stream(ctx, r, dec)
}

// Failed is the response to a request that cannot be sent.
func Failed(err error) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, err) }
}
