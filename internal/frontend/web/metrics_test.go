package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/metrics"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

func TestMetrics(t *testing.T) {
	var meter metrics.Meter
	b := serve(t, setup{
		model:    script.New(script.Turn(script.Text("done"), script.Usage(model.Usage{Input: 7, Output: 2}))),
		observer: settle.Observer{Turn: meter.Turn, Attempt: meter.Attempt, Output: meter.Output, Call: meter.Call},
		web:      func(o *web.Options) { o.Meter = &meter },
	})
	s, err := b.host.Session(t.Context(), "", b.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), "a secret text"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil { // hooks have returned
		t.Fatal(err)
	}
	get := func(authorization string) (int, string, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		answer, err := b.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header.Get("Content-Type"), string(body)
	}
	for _, authorization := range []string{"", "Bearer wrong"} {
		if status, _, body := get(authorization); status != http.StatusUnauthorized ||
			strings.Contains(body, "settle_") {
			t.Errorf("%q: %d %s", authorization, status, body)
		}
	}
	status, media, body := get("Bearer " + token)
	if status != http.StatusOK || media != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%d %q", status, media)
	}
	for _, want := range []string{
		"settle_sessions_open 0", "settle_turns_running 0", `settle_turns_total{outcome="completed",cause=""} 1`,
		`settle_turn_duration_seconds_count{outcome="completed"} 1`, `settle_time_to_first_token_seconds_count{provider="script",model="m"} 1`,
		`settle_tokens_total{provider="script",model="m",type="input"} 7`, `settle_unpriced_attempts_total{provider="script",model="m"} 1`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("there is no line %q:\n%s", want, body)
		}
	}
	for _, secret := range []string{s.ID(), "a secret text", token} {
		if strings.Contains(body, secret) {
			t.Errorf("it has %q:\n%s", secret, body)
		}
	}
}
