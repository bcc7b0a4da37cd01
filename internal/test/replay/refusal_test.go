//go:build recordings

package replay

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/transport"
)

// judged has the correct kind of each recorded refusal, judged by hand from its words.
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
		p := chat.New(
			chat.Options{
				Endpoint: transport.Endpoint{
					BaseURL: "http://" + r.Server + ".test/v1",
					Client:  &http.Client{Transport: answer{r}},
				},
			},
		)
		for _, err := range p.Stream(t.Context(), model.Request{Model: "m"}) {
			var fault *model.Error
			if !errors.As(err, &fault) || fault.Kind != want {
				t.Errorf("%s, %d: %v, want kind %q: %s", r.Server, r.Status, err, want, r.Body)
			}
		}
	}
}

// TestGeminiRefusals judges Gemini's recorded errors.
func TestGeminiRefusals(t *testing.T) {
	wait := 34*time.Second + 400*time.Millisecond
	for name, want := range map[string]model.Error{
		"aistudio--test-authentication-error-stream-gemini-2-5-flash--d86810fb":            {Status: 400, Kind: model.ErrAuth},
		"aistudio--test-model-not-found-stream-gemini-2-5-flash--d0749cb4":                 {Status: 404, Kind: model.ErrNotFound},
		"aistudio--chat-real-error-scenarios-gemini-gemini-2-5-flash-handles-co--c7c89cb6": {Status: 429, Kind: model.ErrRateLimit},
		"vertex--chat-real-error-scenarios-vertexai-gemini-2-5-flash-handles--bcede1ac":    {Status: 400, Kind: model.ErrContext},
		"vertex--test-generate-content-missing-model--997b7130":                            {Status: 404, Kind: model.ErrNotFound},
		"aistudio--google-429-retry-info--f2fd0540":                                        {Status: 429, Kind: model.ErrRateLimit, RetryAfter: wait},
		"vertex--test-google-model-armor-prompt-template-text-gets-blocked--2c8cd2b0":      {Status: 200, Kind: model.ErrPolicy},
	} {
		body, err := os.ReadFile(filepath.Join(folder(t), "gemini", "gemini--"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		r := refusal{Status: want.Status, Type: "application/json", Body: string(body)}
		if want.Status == http.StatusOK {
			r.Type, r.Body = "text/event-stream", "data: "+strings.ReplaceAll(r.Body, "\n", " ")+"\n\n"
		}
		p := gemini.New(gemini.Options{Endpoint: transport.Endpoint{Client: &http.Client{Transport: answer{r}}}})
		for c, err := range p.Stream(t.Context(), model.Request{Model: "m"}) {
			var fault *model.Error
			if err == nil && c.Kind != model.End {
				continue
			}
			if !errors.As(err, &fault) || fault.Kind != want.Kind ||
				want.RetryAfter > 0 && fault.RetryAfter != want.RetryAfter {
				t.Errorf("%s: %#v, want %q after %v", name, err, want.Kind, want.RetryAfter)
			}
		}
	}
}
