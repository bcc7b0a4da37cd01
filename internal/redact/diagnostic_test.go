package redact_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/redact"
)

func TestDiagnostic(t *testing.T) {
	const m = redact.Mask
	tests := []struct{ name, text, want string }{
		{"userinfo", "GET https://me:pa@ss@host:8080/v1?x=1 failed", "GET https://" + m + "@host:8080/v1?x=1 failed"},
		{"userinfo without password", `proxy "http://tok3n@proxy:1"`, `proxy "http://` + m + `@proxy:1"`},
		{
			"query", "https://host/v1?api_key=abc&b=2&access_token=d%20e#f",
			"https://host/v1?api_key=" + m + "&b=2&access_token=" + m + "#f",
		},
		{
			"query of Google", "POST https://host/v1beta/models/x?alt=sse&key=whatever: 400",
			"POST https://host/v1beta/models/x?alt=sse&key=" + m + " 400",
		},
		{"form", "grant_type=x&token=abc&refresh_token=d", "grant_type=x&token=" + m + "&refresh_token=" + m},
		{"header bearer", "Authorization: Bearer abc\r\nAccept: */*", "Authorization: Bearer " + m + "\r\nAccept: */*"},
		{"header basic", "proxy-authorization: Basic bWU6cGE=", "proxy-authorization: Basic " + m},
		{
			"header api key", "X-Api-Key: abc\nx-goog-api-key: d\napi-key:e",
			"X-Api-Key: " + m + "\nx-goog-api-key: " + m + "\napi-key:" + m,
		},
		{
			"header map", "map[Authorization:[Bearer abc] Accept:[x]]",
			"map[Authorization:[Bearer " + m + "] Accept:[x]]",
		},
		{
			"JSON", `{"access_token": "a\"b", "token":"c", "n":1}`,
			`{"access_token": "` + m + `", "token":"` + m + `", "n":1}`,
		},
		{
			"JSON within JSON", `{"body":"{\"api_key\":\"abc\",\"n\":1}"}`,
			`{"body":"{\"api_key\":\"` + m + `\",\"n\":1}"}`,
		},
		{"JSON header", `{"authorization":"Bearer abc"}`, `{"authorization":"Bearer ` + m + `"}`},
		{"python", `{'token': 'abc', 'n': "1"}`, `{'token': '` + m + `', 'n': "1"}`},
		{"bearer in prose", "got bearer abc.def-123 here", "got bearer " + m + " here"},
		{
			"OpenAI", "Incorrect API key provided: sk-proj-abcdefghijklmnop1234.",
			"Incorrect API key provided: " + m + ".",
		},
		{"Anthropic", "key sk-ant-" + "api03-abcdefghijklmnop was refused", "key " + m + " was refused"},
		{"Google", "(AIzaSyA1234567890abcdefghijklmnopqrstuv)", "(" + m + ")"},
		{"GitHub", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", m},
		{"xAI and Groq", "xai-abcdefghijklmnop1234 gsk_abcdefghijklmnop1234", m + " " + m},
		{"JWT", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4", m},

		{
			"an explanation stays", "use Bearer auth (i.e. Authorization: Bearer YOUR_KEY) or OPENAI_API_KEY=$KEY",
			"use Bearer auth (i.e. Authorization: Bearer YOUR_KEY) or OPENAI_API_KEY=$KEY",
		},
		{"limits stay", `{"max_tokens": 100, "token": null}`, `{"max_tokens": 100, "token": null}`},
		{"form of limits stays", "max_tokens=100", "max_tokens=100"},
		{
			"prose stays", "Bearer authentication is required: no token: sent, unexpected token '<', the key=value form",
			"Bearer authentication is required: no token: sent, unexpected token '<', the key=value form",
		},
		{"words stay", "task-abcdefghijklmnopqrst1 and sk-learn", "task-abcdefghijklmnopqrst1 and sk-learn"},
		{
			"mail stays", "mail me@example.com about https://example.com/@me",
			"mail me@example.com about https://example.com/@me",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := redact.Diagnostic(tt.text)
			if got != tt.want {
				t.Errorf("Diagnostic(%q)\n got %q\nwant %q", tt.text, got, tt.want)
			}
			if again := redact.Diagnostic(got); again != got {
				t.Errorf("again: %q, want %q", again, got)
			}
		})
	}
}

func TestRedactorDiagnosticMasksBoth(t *testing.T) {
	r := redact.New("my own very secret value")
	got := r.Diagnostic("my own very secret value, ?token=x")
	if want := redact.Mask + ", ?token=" + redact.Mask; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDiagnosticIsIdempotent(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"token", "api_key", "Authorization", "bearer", "Basic ", "http://", "sk-ant-", "=", ":", ": ", `"`, `\"`, "'",
		"&", "?key=", "@",
		"[", "]", " ", "\n", "/", "abc", "0123456789abcdef", redact.Mask, "***settle:", "***", `\`, "é", "\xff",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), "")
		once := redact.Diagnostic(text)
		if twice := redact.Diagnostic(once); twice != once {
			t.Fatalf("text:  %q\nonce:  %q\ntwice: %q", text, once, twice)
		}
	})
}

func FuzzDiagnostic(f *testing.F) {
	f.Add(`{"authorization":"Bearer abc","u":"https://a:b@c?token=d"}`)
	f.Fuzz(func(t *testing.T, text string) {
		once := redact.Diagnostic(text)
		if twice := redact.Diagnostic(once); twice != once {
			t.Errorf("once %q, twice %q", once, twice)
		}
	})
}
