package transport

import "testing"

func TestURLSaysNoSecrets(t *testing.T) {
	for base, want := range map[string]string{
		"https://user:secret@api.test/v1?key=secret": "https://api.test/v1/responses",
		"http://localhost:8000":                      "http://localhost:8000/responses",
		"::not a url":                                "",
	} {
		if got := (&Endpoint{BaseURL: base}).URL("/responses"); got != want {
			t.Errorf("%q: %q, want %q", base, got, want)
		}
	}
}
