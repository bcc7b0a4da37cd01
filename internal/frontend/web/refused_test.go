package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// TestInputsThatAreRefused: the error of a refused input states only facts that the server knows.
func TestInputsThatAreRefused(t *testing.T) {
	for words, tt := range map[string]struct {
		err    error
		status int
	}{
		"nothing was done": {fmt.Errorf("not sent: %w", event.Abort(event.Interrupted, "user")), http.StatusConflict},
		"is closing":       {fmt.Errorf("not sent: %w", event.Abort(event.Shutdown, "host")), http.StatusServiceUnavailable},
		"cannot tell":      {fmt.Errorf("cannot tell whether the input was accepted: %w", context.DeadlineExceeded), http.StatusGatewayTimeout},
	} {
		p := problemOf(refusedInput(tt.err))
		if p.Status != tt.status || !strings.Contains(p.Detail, words) ||
			strings.Contains(p.Detail, "was not accepted") {
			t.Errorf("%v: %d, %s", tt.err, p.Status, p.Detail)
		}
	}
}
