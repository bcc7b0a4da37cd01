package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/modeltest"
)

// TestRecover: an empty server replaces Temporal's. While it has no namespace, recover changes nothing. A worker
// does nothing until recover has submitted what the database knows, and then every task ends.
func TestRecover(t *testing.T) {
	home(t)
	say := modeltest.Say("Hello.")
	model := modeltest.NewServer(t, modeltest.Script(say, say, say))
	must(t, "", "migrate")
	submit := []string{"submit", "-C", t.TempDir(), "-m", "openai/gpt-5.2", "-f", "-"}
	must(t, `{"session":"a","input":"1","prompt":"1"}
{"session":"a","input":"2","prompt":"2"}
{"session":"b","input":"1","prompt":"3"}
`, submit...)
	if err := temporalServer.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", "status"); !strings.HasPrefix(out, "queued 3,") || strings.Contains(out, "not yet sent") {
		t.Errorf("%q", out)
	}
	const sum = `SELECT sum(epoch) FROM settle_fleet.session`
	var before, after int64
	pool := pgtest.Connect(t, os.Getenv(databaseVar))
	if err := pool.QueryRow(t.Context(), sum).Scan(&before); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, "", "recover", "--namespace", "lost"); code != codeFailed ||
		!strings.Contains(errs, `has no namespace "lost"`) || !strings.Contains(errs, "nothing was changed") {
		t.Errorf("without the namespace: %d, %s", code, errs)
	}
	if err := pool.QueryRow(t.Context(), sum).Scan(&after); err != nil || after != before {
		t.Errorf("without the namespace, the sum of the epochs goes from %d to %d; %v", before, after, err)
	}
	if out := must(t, "", "recover"); !strings.HasSuffix(out, "submitted to Temporal again: 3\n") {
		t.Errorf("%q", out)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, said := make(chan int, 1), bytes.Buffer{}
	args := []string{"worker", "--slots", "2", "--base-url", model.OpenAI(), "--id", "w1"}
	go func() { // ends with stop, and is waited for
		ended <- execute(ctx, args, strings.NewReader(""), io.Discard, &said)
	}()
	results := must(t, "", "results", "--wait")
	stop()
	if code := <-ended; code != 0 || strings.Count(results, `"outcome":"completed"`) != 3 {
		t.Errorf("%d\n%s\n%s", code, results, said.String())
	}
	if out := must(t, "", "recover"); !strings.HasSuffix(out, "again: 0\n") {
		t.Errorf("%q", out)
	}
}
