//go:build unix

package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/event"
)

// TestDeletedLog: events that are written to a deleted file are not stored, and no subscriber
// receives them as durable (C4).
func TestDeletedLog(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, Options{Dir: dir})
	begin(t, l)
	if err := os.Rename(filepath.Join(dir, "sessions"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	err := l.Update(one(event.Event{By: "user", Data: event.InputAccepted{Input: "n000009", Text: "is it kept?"}}))
	wantFailed(t, l, err, fs.ErrNotExist)
	if failed := (*FailedError)(nil); !errors.As(err, &failed) {
		t.Errorf("got %v", err)
	}
	closeLog(t, l)
}
