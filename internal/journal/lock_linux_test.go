package journal

import "testing"

// checkInherited checks that the error names the inheritor.
func checkInherited(t *testing.T, held *HeldError, inheritor, host int) {
	t.Helper()
	if held.PID != inheritor || held.Host != host {
		t.Fatalf("got %+v, want pid %d after %d", held, inheritor, host)
	}
}
