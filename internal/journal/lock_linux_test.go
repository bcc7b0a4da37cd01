package journal

import "testing"

// checkHeir checks that the error names the heir.
func checkHeir(t *testing.T, held *HeldError, heir, host int) {
	t.Helper()
	if held.PID != heir || held.Host != host {
		t.Fatalf("got %+v, want pid %d after %d", held, heir, host)
	}
}
