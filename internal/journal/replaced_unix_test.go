//go:build unix

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/event"
)

// C4: a log that was replaced under its name, as by rsync and restores, receives no more events
// under any name. Its events are kept beside the new log.
func TestReplacedLog(t *testing.T) {
	dir := t.TempDir()
	l, opened := open(t, Options{Dir: dir})
	begin(t, l)
	before, err := os.ReadFile(opened.Path)
	if err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(dir, "restored")
	if err := errors.Join(os.WriteFile(restored, before[:len(header(formatVersion))], 0o600), os.Rename(restored, opened.Path)); err != nil {
		t.Fatal(err)
	}
	err = l.Update(one(event.Event{By: "user", Data: event.InputAccepted{Input: "n000009", Text: "is it kept?"}}))
	wantFailed(t, l, err, ErrReplaced)
	closeLog(t, l)
	kept, err := filepath.Glob(opened.Path + tornSuffix + "*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %q, %v", kept, err)
	}
	if raw, err := os.ReadFile(kept[0]); err != nil || !bytes.HasPrefix(raw, before) ||
		!bytes.Contains(raw, []byte("is it kept?")) {
		t.Errorf("%v: kept\n%s", err, raw)
	}
	again, opened := open(t, Options{Dir: dir})
	if again.Seq() != 0 || opened.Damage != "" {
		t.Errorf("the restored log has %d events, %+v", again.Seq(), opened)
	}
	closeLog(t, again)
}

// An event that no record can have is refused alone: later events are written.
func TestEventThatCannotBeEncoded(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, Options{Dir: dir})
	begin(t, l)
	bad := event.Event{
		By:   "user",
		Data: event.InputAccepted{Input: "n000002", Text: "go", Schema: json.RawMessage(`{"type":`)},
	}
	if err := l.Update(one(bad)); err == nil || l.Err() != nil {
		t.Errorf("got %v, and the log says %v", err, l.Err())
	}
	update(t, l, event.Event{By: "user", Data: event.InputAccepted{Input: "n000002", Text: "go"}})
	closeLog(t, l)
	if events := stored(t, dir); len(events) != 6 || events[5].Kind() != event.KindInputAccepted {
		t.Errorf("stored %v", texts(events))
	}
}
