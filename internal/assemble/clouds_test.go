package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
)

// cloudRequest is a request that a cloud's server received.
type cloudRequest struct {
	path   string
	header http.Header
	body   map[string]any
}

// requestCloud sends a request to a server in place of a cloud's, which answers with the status, and returns
// all that it received.
func requestCloud(
	t *testing.T, p config.Provider, name, key string, fetch func(context.Context) (string, error), status int,
) (got []cloudRequest, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		c := cloudRequest{r.URL.RequestURI(), r.Header, nil}
		_ = json.Unmarshal(data, &c.body) // the test sees a missing body
		got = append(got, c)
		http.Error(w, `{"message":"The security token included in the request is expired"}`, status)
	}))
	defer server.Close()
	p.Name, p.BaseURL = "cloud", server.URL+p.BaseURL
	o := Options{Getenv: func(string) string { return "" }}
	endpoint := o.endpoint(config.Choice{Provider: p, Model: name}, newKey(key, fetch))
	request := model.Request{Model: name, Input: []model.Item{{Role: model.User, Text: "hi"}}}
	for _, e := range provider(p, endpoint, catalog.Builtin()).Stream(t.Context(), request) {
		err = e
	}
	return got, err
}

// The paths, headers and bodies are the same as in requests of the official SDKs.
func TestCloudRequests(t *testing.T) {
	const aws = `{"AccessKeyId":"AKIDEXAMPLE","SecretAccessKey":"wJalrXUtnFEMI","SessionToken":"token-of-session"}`
	const vertex = "/v1/projects/p/locations/global"
	const google, claude = vertex + "/publishers/google", vertex + "/publishers/anthropic"
	for name, c := range map[string]struct {
		provider    config.Provider
		model, key  string
		path        string
		header      map[string]string // a value ends in … if only its beginning is known
		body        map[string]any    // nil: absent
		otherHeader string            // absent
	}{
		"azure, key": {
			config.Provider{Wire: config.WireOpenAI, BaseURL: "/openai/v1", Auth: config.AuthAPIKey},
			"d", "k",
			"/openai/v1/responses",
			map[string]string{"Api-Key": "k"},
			map[string]any{"model": "d"},
			"Authorization",
		},
		"azure, token": {
			config.Provider{Wire: config.WireOpenAI, BaseURL: "/openai/v1", Auth: config.AuthBearer},
			"d", "k",
			"/openai/v1/responses",
			map[string]string{"Authorization": "Bearer k"},
			nil, "Api-Key",
		},
		"azure-claude, key": {
			config.Provider{Wire: config.WireAnthropic, BaseURL: "/anthropic"},
			"claude-opus-4-8", "k",
			"/anthropic/v1/messages",
			map[string]string{"X-Api-Key": "k"},
			nil, "Authorization",
		},
		"bedrock-claude, key": {
			config.Provider{Wire: config.WireAnthropic, BaseURL: "/anthropic", Auth: config.AuthBearer},
			"anthropic.claude-opus-4-8", "k", "/anthropic/v1/messages",
			map[string]string{"Authorization": "Bearer k", "Anthropic-Version": "2023-06-01"},
			map[string]any{"model": "anthropic.claude-opus-4-8", "max_tokens": 128000.0},
			"X-Api-Key",
		},
		"bedrock-chat, signed": {
			config.Provider{
				Wire: config.WireChat, BaseURL: "/openai/v1", Auth: config.AuthSigV4, Service: "bedrock",
				Region: "eu-central-1",
			},
			"openai.gpt-oss-20b-1:0", aws, "/openai/v1/chat/completions",
			map[string]string{
				"Authorization":        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/…",
				"X-Amz-Security-Token": "token-of-session",
			},
			nil, "X-Api-Key",
		},
		"vertex": {
			config.Provider{Wire: config.WireGemini, BaseURL: google, Auth: config.AuthBearer},
			"gemini-3.8-flash", "k", google + "/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
			map[string]string{"Authorization": "Bearer k"},
			nil, "X-Goog-Api-Key",
		},
		"vertex-claude": {
			config.Provider{Wire: config.WireAnthropic, BaseURL: claude, Auth: config.AuthBearer},
			"claude-opus-4-8", "k", claude + "/models/claude-opus-4-8:streamRawPredict",
			map[string]string{"Authorization": "Bearer k"},
			map[string]any{"model": nil, "anthropic_version": "vertex-2023-10-16", "stream": true},
			"X-Api-Key",
		},
		"vertex-chat": {
			config.Provider{Wire: config.WireChat, BaseURL: vertex + "/endpoints/openapi", Auth: config.AuthBearer},
			"meta/llama", "k", vertex + "/endpoints/openapi/chat/completions",
			map[string]string{"Authorization": "Bearer k"},
			map[string]any{"model": "meta/llama"},
			"X-Goog-Api-Key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := requestCloud(t, c.provider, c.model, c.key, nil, http.StatusBadRequest)
			if len(got) != 1 || got[0].path != c.path || err == nil {
				t.Fatalf("got %+v, %v", got, err)
			}
			for name, want := range c.header {
				value := got[0].header.Get(name)
				start, isStart := strings.CutSuffix(want, "…")
				if value != want && !(isStart && strings.HasPrefix(value, start)) {
					t.Errorf("%s: %q, not %q", name, value, want)
				}
			}
			if value := got[0].header.Get(c.otherHeader); value != "" {
				t.Errorf("%s: %q", c.otherHeader, value)
			}
			for name, want := range c.body {
				if value, found := got[0].body[name]; found != (want != nil) || value != want {
					t.Errorf("%s: %v, not %v", name, value, want)
				}
			}
			if strings.Contains(err.Error(), "wJalrXUtnFEMI") {
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
}

// AWS refuses expired credentials with 403: the command runs again, and the turn repeats the request.
func TestCloudCredentialsAreRenewed(t *testing.T) {
	fetch := func(context.Context) (string, error) {
		return `{"AccessKeyId":"AKIDNEXT","SecretAccessKey":"the-next-secret"}`, nil
	}
	aws := config.Provider{
		Wire: config.WireAnthropic, BaseURL: "/anthropic", Auth: config.AuthSigV4, Service: "bedrock-mantle",
		Region: "us-east-1",
	}
	const first = `{"AccessKeyId":"AKIDFIRST","SecretAccessKey":"the-first-secret"}`
	_, err := requestCloud(t, aws, "anthropic.claude-opus-4-8", first, fetch, http.StatusForbidden)
	if fault := (*model.Error)(nil); !errors.As(err, &fault) || !fault.Renewed {
		t.Errorf("got %v", err)
	}
	azure := config.Provider{Wire: config.WireOpenAI, BaseURL: "/openai/v1", Auth: config.AuthBearer}
	_, err = requestCloud(t, azure, "d", "first", fetch, http.StatusForbidden) // it has no right to the model
	if fault := (*model.Error)(nil); !errors.As(err, &fault) || fault.Renewed {
		t.Errorf("got %v", err)
	}
	aws.Auth = config.AuthSigV4
	got, err := requestCloud(t, aws, "m", "no credentials", nil, http.StatusOK)
	if fault := (*model.Error)(nil); len(got) > 0 || !errors.As(err, &fault) || fault.Kind != model.ErrAuth ||
		strings.Contains(err.Error(), "no credentials") {
		t.Errorf("got %v", err)
	}
}

// Secrets within AWS credentials are masked, also without the JSON around them.
func TestCloudCredentialsAreMasked(t *testing.T) {
	k := newKey(`{"AccessKeyId":"AKIDFIRST","SecretAccessKey":"wJalrXUtnFEMI/K7MDENG"}`, nil)
	r := maskedBy(k)
	if got := r("it is wJalrXUtnFEMI/K7MDENG"); strings.Contains(got, "wJalr") {
		t.Error(got)
	}
}

func maskedBy(k *key) func(string) string {
	r := redact.New()
	k.masked(r)
	return r.String
}
