package journal

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// recorder records the operations on files of the disk, in order.
type recorder struct{ steps []string }

func (r *recorder) wrap(f File) File {
	name := "log"
	if strings.Contains(filepath.Base(f.(diskFile).Name()), tornSuffix) {
		name = "torn"
	}
	return recorded{f, name, r}
}

type recorded struct {
	File
	name string
	r    *recorder
}

func (f recorded) note(step string) { f.r.steps = append(f.r.steps, f.name+" "+step) }

func (f recorded) WriteAt(p []byte, off int64) (int, error) {
	f.note("write")
	return f.File.WriteAt(p, off)
}

func (f recorded) Sync() error {
	f.note("sync")
	return f.File.Sync()
}

func (f recorded) SyncName() error {
	f.note("sync name")
	return f.File.SyncName()
}

func (f recorded) Truncate(size int64) error {
	f.note("truncate")
	return f.File.Truncate(size)
}

var _ io.Closer = recorded{}

// A new log's name is on stable storage before any reader learns that the log has an event, and it
// is synced only once.
func TestANewLogIsDurableWithItsName(t *testing.T) {
	r := &recorder{}
	l, _ := open(t, Options{Dir: t.TempDir(), Wrap: r.wrap})
	update(t, l, opened())
	diff(t, "steps", []string{"log write", "log write", "log sync", "log sync name"}, r.steps)
	r.steps = nil
	update(t, l, event.Event{By: "user", Data: event.InputAccepted{Input: "n000001", Text: "go"}})
	diff(t, "steps", []string{"log write", "log sync"}, r.steps)
	closeLog(t, l)
}

// The part that is cut from a log is on stable storage, with its name, before it is cut, and the
// cut is before anything is written behind it.
func TestACutIsDurable(t *testing.T) {
	raw, _ := written(t)
	dir := place(t, raw[:len(raw)-1])
	r := &recorder{}
	l, opened := open(t, Options{Dir: dir, Wrap: r.wrap})
	diff(t, "steps", []string{"torn write", "torn sync", "torn sync name", "log truncate", "log sync"}, r.steps)
	if _, err := os.Stat(opened.Kept); err != nil {
		t.Error(err)
	}
	closeLog(t, l)
}
