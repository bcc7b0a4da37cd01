package web_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
)

// A session is named, copied and deleted.
func TestKeptSessions(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir(), model: script.New().Otherwise(script.Text("Said."))})
	session := b.session("first")
	b.input(session, "Say it.")
	b.until(session, event.Event.Terminal)
	titles := func() (out []string) {
		for _, s := range ask[object](b, "GET", "/api/sessions", nil, 200)["sessions"].([]any) {
			out = append(out, s.(object)["title"].(string))
		}
		return out
	}
	ask[object](b, "POST", session+"/name", object{"name": "The first"}, 204)
	b.diff("titles", []string{"The first"}, titles())
	ask[object](b, "POST", session+"/name", object{"name": ""}, 204)
	b.diff("titles", []string{"Say it."}, titles())
	fork := "/api/sessions/" + ask[object](b, "POST", session+"/fork", nil, 201)["id"].(string)
	b.input(fork, "And on.")
	b.until(fork, func(e event.Event) bool { return e.Terminal() && e.Turn == "t000002" })
	ask[object](b, "DELETE", session+"/log", nil, 204)
	ask[object](b, "GET", session, nil, 404)
	ask[object](b, "DELETE", session+"/log", nil, 404)
	ask[object](b, "POST", session+"/fork", nil, 404)
	ask[object](b, "POST", session+"/name", object{"name": "x"}, 404)
	b.diff("titles", []string{"Say it."}, titles())
}

// A server that keeps nothing says so.
func TestNothingIsKept(t *testing.T) {
	b := serve(t, setup{})
	session := b.session("first")
	for method, path := range map[string]string{"POST": "/fork", "DELETE": "/log"} {
		if got := ask[object](b, method, session+path, nil, 409); got["title"] == "" {
			t.Errorf("%s: %v", path, got)
		}
	}
}
