//go:build recordings

package replay

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/transport"
)

// judged is what each recorded refusal is, judged by hand from its words.
var judged = []struct {
	words string
	kind  model.ErrorKind
}{
	{"No tool output found for tool call", model.ErrInvalid},
	{"invalid x-api-key", model.ErrAuth},
	{"Access denied due to invalid subscription key", model.ErrAuth},
	{"Authentication Fails", model.ErrAuth},
	{"Invalid API Key", model.ErrAuth},
	{"Unauthorized", model.ErrAuth},
	{"Missing Authentication header", model.ErrAuth},
	{"Invalid API key provided", model.ErrAuth},
	{"Incorrect API key provided", model.ErrAuth},
	{"have exceeded rate limit", model.ErrRateLimit},
	{"prompt is too long", model.ErrContext},
	{"prompt too long", model.ErrContext},
	{"maximum context length", model.ErrContext},
	{"exceeds the context window", model.ErrContext},
	{"total length of all messages is too long", model.ErrContext},
	{"has been deprecated", model.ErrNotFound},
	{"API deployment for this resource does not exist", model.ErrNotFound},
	{"model: this-model-does-not-exist", model.ErrNotFound},
	{"The model `this-model-does-not-exist", model.ErrNotFound},
	{"The requested model 'this-model-does-not-exist", model.ErrNotFound},
	{"Error while downloading", model.ErrImage},
	{"Unsupported parameter", model.ErrInvalid},
	{"Invalid schema for function", model.ErrInvalid},
}

// answer refuses every request as the recorded server did.
type answer struct{ refusal }

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.Status, Header: http.Header{"Content-Type": {a.Type}}, Body: io.NopCloser(strings.NewReader(a.Body)), Request: r,
	}, nil
}

func TestRefusals(t *testing.T) {
	for _, r := range refusals(t) {
		var want model.ErrorKind
		for _, j := range judged {
			if strings.Contains(r.Body, j.words) {
				want = j.kind
				break
			}
		}
		if want == "" {
			t.Errorf("not judged yet: %s", r.Body)
			continue
		}
		p := chat.New(chat.Options{Endpoint: transport.Endpoint{BaseURL: "http://" + r.Server + ".test/v1", Client: &http.Client{Transport: answer{r}}}})
		for _, err := range p.Stream(t.Context(), model.Request{Model: "m"}) {
			var fault *model.Error
			if !errors.As(err, &fault) || fault.Kind != want {
				t.Errorf("%s, %d: %v, want kind %q: %s", r.Server, r.Status, err, want, r.Body)
			}
		}
	}
}
