//go:build unix

package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

func forever() time.Duration { return time.Hour }

func text(s string) func([]byte) []byte { return func(b []byte) []byte { return append(b, s...) } }

func TestOutputWritesEverythingInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		o := NewOutput(&got, func(err error) { t.Error(err) })
		var want strings.Builder
		for i := range 5000 {
			line := strings.Repeat("x", i%700) + "\n"
			want.WriteString(line)
			o.Write(text(line))
			if i%1000 == 0 {
				o.Flush()
			}
		}
		if err := o.Close(forever); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("got %d bytes, want %d", got.Len(), want.Len())
		}
		if o.Write(text("late")) {
			t.Error("a closed output takes more")
		}
	})
}

// stuck is a reader that does not read until it is let go.
type stuck struct {
	mu   sync.Mutex
	got  int
	gate chan struct{}
}

func (s *stuck) Write(data []byte) (int, error) {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got += len(data)
	return len(data), nil
}

// A reader that does not read holds up the printer, in bounded memory, and the
// end for no longer than the UnreadTimeout.
func TestOutputIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{gate: make(chan struct{})}
		o := NewOutput(s, func(err error) { t.Error(err) })
		printed := make(chan struct{})
		go func() {
			defer close(printed)
			for range 100 {
				o.Write(text(strings.Repeat("x", 64<<10)))
			}
		}()
		synctest.Wait()
		o.mu.Lock()
		pending := len(o.pending)
		o.mu.Unlock()
		if pending > room+64<<10 {
			t.Errorf("%d bytes wait", pending)
		}
		began := time.Now()
		if err := o.Await(printed, func() time.Duration { return time.Second }); !errors.Is(err, ErrUnread) {
			t.Errorf("got %v, want %v", err, ErrUnread)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("gave up after %v", took)
		}
		close(s.gate) // and now it reads
		if err := o.Await(printed, forever); err != nil {
			t.Error(err)
		}
		if err := o.Close(forever); err != nil {
			t.Error(err)
		}
		if s.got != 100*64<<10 {
			t.Errorf("%d bytes were read", s.got)
		}
	})
}

// A reader that is slow, and reads, is waited for.
func TestOutputIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		o := NewOutput(writer, func(err error) { t.Error(err) })
		read := make(chan int, 1)
		go func() { // ends with the output
			buf, all := make([]byte, piece), 0
			for {
				n, err := reader.Read(buf)
				if all += n; err != nil {
					read <- all
					return
				}
				time.Sleep(UnreadTimeout / 2)
			}
		}()
		o.Write(text(strings.Repeat("x", room)))
		if err := o.Close(func() time.Duration { return UnreadTimeout }); err != nil {
			t.Error(err)
		}
		_ = writer.Close()
		if n := <-read; n != room {
			t.Errorf("%d bytes came", n)
		}
	})
}

func TestOutputBreaks(t *testing.T) {
	reader, writer := io.Pipe()
	broken := make(chan error, 2)
	o := NewOutput(writer, func(err error) { broken <- err })
	_ = reader.CloseWithError(syscall.EPIPE)
	o.Write(text("x"))
	stop := StopFor(<-broken, File)
	if stop.Code != CodeStdoutClosed {
		t.Errorf("code %d", stop.Code)
	}
	o.Flush()
	if o.Write(text("more")) {
		t.Error("a broken output takes more")
	}
	if err := o.Close(forever); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v", err)
	}
	if stop := StopFor(syscall.ENOSPC, Device); stop.Code != CodeFailed || !strings.Contains(
		stop.Err.Error(), "cannot write to standard output",
	) {
		t.Errorf("full disk: %+v", stop)
	}
	if stop := StopFor(syscall.EIO, Device); stop.Code != CodeHangup {
		t.Errorf("hangup: %+v", stop)
	}
}

func TestWatchClosed(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	lost := make(chan error, 1)
	stop := proc.Closed(writer, func(err error) { lost <- err })
	stop() // ends a watch that has seen nothing
	stop = proc.Closed(writer, func(err error) { lost <- err })
	defer stop()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !IsClosed(err) {
		t.Errorf("got %v", err)
	}
}
