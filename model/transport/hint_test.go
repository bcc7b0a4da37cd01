package transport

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
)

// A 404 whose cause is the base URL names the right one.
func TestNotFoundHintNamesBaseURL(t *testing.T) {
	for _, tt := range []struct{ base, url, message, want string }{
		{"http://h:1/v1", "http://h:1/v1/chat/completions", "no such model", "check the name of the model"},
		{"http://h:1", "http://h:1/chat/completions", "404 page not found", "try http://h:1/v1,"},
		{"http://h:1/", "http://h:1/chat/completions", "", "try http://h:1/v1,"},
		{"http://u:pw@h:1", "http://h:1/chat/completions", "", "try http://h:1/v1,"},
		{"http://h:1", "http://h:1/chat/completions", "model x does not exist", "check the name of the model"},
		{"http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions/chat/completions", "", "use http://h:1/v1"},
		{"https://h/v1/responses/", "https://h/v1/responses/responses", "", "use https://h/v1"},
		{"https://api.anthropic.com", "https://api.anthropic.com/v1/messages", "", "check the name of the model"},
	} {
		fault := model.NewError(model.ErrNotFound, "%s", tt.message)
		fault.Status, fault.URL = 404, tt.url
		e := Endpoint{BaseURL: tt.base}
		if got := e.hint(fault, ""); !strings.Contains(got, tt.want) || strings.Contains(got, "pw") {
			t.Errorf("%s: %q, want %q", tt.base, got, tt.want)
		}
	}
}
