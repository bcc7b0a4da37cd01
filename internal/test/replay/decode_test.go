//go:build recordings

package replay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// pieces are the ways in which a body arrives.
var pieces = map[string]func(io.Reader) io.Reader{
	"whole":       func(r io.Reader) io.Reader { return r },
	"byte a time": iotest.OneByteReader,
	"odd pieces":  func(r io.Reader) io.Reader { return &oddReader{r: r} },
}

// oddReader reads 1, 2, 3, 5, 8 … bytes at a time.
type oddReader struct {
	r    io.Reader
	a, b int
}

func (o *oddReader) Read(p []byte) (int, error) {
	if o.b == 0 || o.b > 500 {
		o.a, o.b = 1, 1
	}
	o.a, o.b = o.b, o.a+o.b
	return o.r.Read(p[:min(len(p), o.a)])
}

// server answers with the body.
type server struct{ body io.Reader }

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(s.body), Request: r,
	}, nil
}

func (r recording) provider(body io.Reader) model.Provider {
	endpoint := transport.Endpoint{
		BaseURL: "http://" + r.Server + ".test/v1",
		Client:  &http.Client{Transport: server{body}},
	}
	switch r.Wire {
	case "responses":
		return openai.New(openai.Options{Endpoint: endpoint})
	case "messages":
		return anthropic.New(anthropic.Options{Endpoint: endpoint})
	case "gemini":
		return gemini.New(gemini.Options{Endpoint: endpoint})
	}
	return chat.New(chat.Options{Endpoint: endpoint})
}

// decoded returns the reading and the provider signatures that the decoders produce for a response.
func decoded(t *testing.T, p model.Provider) (reading, []*model.ProviderSignature) {
	t.Helper()
	var r reading
	var signatures []*model.ProviderSignature
	texts, roles, ends := map[int]string{}, map[int]model.Role{}, map[int]model.Chunk{}
	n := 0
	for c, err := range p.Stream(t.Context(), model.Request{Model: "m"}) {
		if err != nil {
			var fault *model.Error
			if !errors.As(err, &fault) {
				t.Fatalf("an error without a kind: %v", err)
			}
			r.Error = fault.Message
			break
		}
		switch c.Kind {
		case model.ItemStart:
			roles[c.Index], n = c.Role, max(n, c.Index+1)
		case model.Delta:
			texts[c.Index] += c.Text
		case model.ItemEnd:
			ends[c.Index] = c
		case model.End:
			r.Stop = stops[c.Stop]
		}
		if c.Usage != nil {
			r.Input, r.Output = c.Usage.Input, c.Usage.Output
		}
	}
	for i := range n {
		end, ended := ends[i]
		switch roles[i] {
		case model.Assistant:
			r.Text += texts[i]
		case model.Reasoning:
			r.Thinking += texts[i]
		case model.Call:
			if ended {
				r.Calls = append(r.Calls, call{end.CallID, end.Name, arguments(texts[i])})
			}
		}
		if end.Signature != nil {
			signatures = append(signatures, end.Signature)
		}
	}
	return r, signatures
}

var stops = map[model.StopReason]string{
	model.StopEndTurn: "end", model.StopToolUse: "tools", model.StopMaxTokens: "length", model.StopRefusal: "refusal",
	model.StopPause: "pause", model.StopFilter: "filter", model.StopSequence: "end",
}

// TestDecode compares the decoders' result for each recording with the independent reading.
func TestDecode(t *testing.T) {
	for _, rec := range recordings(t) {
		t.Run(rec.ID, func(t *testing.T) {
			want := rec.read()
			for how, cut := range pieces {
				got, signatures := decoded(t, rec.provider(cut(bytes.NewReader(rec.body))))
				if want.broken {
					if got.Error == "" {
						t.Errorf("%s: read to its end, though an event is not JSON", how)
					}
					continue
				}
				if want.Stop == "" && want.Error == "" && got.Error != "" {
					got.Error = "" // it was recorded without its end
				}
				if diff := cmp.Diff(want, got, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
					t.Errorf("%s (-read +decoded):\n%s", how, diff)
				}
				if n := want.attached(); n > 0 && len(signatures) == 0 {
					t.Errorf("%s: the provider attached %d things, and none was kept", how, n)
				}
			}
		})
	}
}

func (r reading) attached() int { return len(r.phases) + len(r.signatures) + len(r.members) }

func unexported(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && f.Name() != "" && f.Name()[0] >= 'a'
}
