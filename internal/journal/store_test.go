package journal_test

import (
	"testing"

	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/journal/journaltest"
)

// TestFiles: the logs in files pass the tests of every store.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	journaltest.Run(t, func(t *testing.T, session string) *journal.Log {
		t.Helper()
		l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: session})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}
