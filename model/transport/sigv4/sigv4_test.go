package sigv4_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/model/transport/sigv4"
)

const credentials = `{"Version": 1, "AccessKeyId": "AKIDEXAMPLE",
	"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}`

// The vectors get-vanilla and post-vanilla of AWS's test suite for Signature Version 4.
func TestSignAgainstVectorsOfAWS(t *testing.T) {
	s := sigv4.Signer{Region: "us-east-1", Service: "service", Now: func() time.Time {
		return time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	}}
	for method, signature := range map[string]string{
		http.MethodGet:  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
		http.MethodPost: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
	} {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://example.amazonaws.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sign(req, nil, credentials); err != nil {
			t.Fatal(err)
		}
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
			"SignedHeaders=host;x-amz-date, Signature=" + signature
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", method, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "secret-thing", "no secret": `{"AccessKeyId":"a"}`, "another type": `{"AccessKeyId":7}`,
	} {
		if _, err := sigv4.Parse(text); err == nil || strings.Contains(err.Error(), "secret-thing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := sigv4.Secrets(credentials); got[0] != "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" {
		t.Errorf("secrets: %q", got)
	}
	if sigv4.Secrets("sk-1234") != nil {
		t.Error("an API key has parts")
	}
}

func TestExpiration(t *testing.T) {
	const head = `{"AccessKeyId": "a", "SecretAccessKey": "s"`
	for text, want := range map[string]time.Time{
		head + `, "Expiration": "2026-11-28T18:00:00+00:00"}`: time.Date(2026, 11, 28, 18, 0, 0, 0, time.UTC),
		head + `, "Expiration": "soon"}`:                      {},
		head + "}":                                            {},
		"a key":                                               {},
	} {
		if got := sigv4.Expiration(text); !got.Equal(want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
