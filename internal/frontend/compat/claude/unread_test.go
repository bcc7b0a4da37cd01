package claude

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/model/script"
)

// room is more than waits for a reader.
const room = 1 << 20

// A client that has closed its input and reads nothing does not keep settle for
// ever: neither where a turn is over, nor where one waits for a word that can not
// come any more.
func TestNobodyReads(t *testing.T) {
	more := strings.Repeat("x", 2*room)
	for name, step := range map[string]script.Step{
		"a turn that is over": script.Text(more),
		"a call that waits":   script.Turn(script.Text(more), script.Call("shell", `{"command":"touch x"}`)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reader, unread := io.Pipe()
				defer func() { _ = reader.Close() }() // lets the writer go, with which a process would end
				s := serve(t, func(c *Config) { c.Stdout, c.Asks = unread, true }, step, script.Text("not allowed"))
				s.say(user("one", uuid1))
				_ = s.in.Close()
				if code := s.exit(); code != stdio.CodeFailed {
					t.Errorf("exit code %d", code)
				}
				if text := s.errors(); !strings.HasPrefix(
					text, "settle: not answered: the client has not read standard output for 10s",
				) {
					t.Errorf("it says %q", text)
				}
			})
		})
	}
}

// A reader that reads, however slowly, is waited for.
func TestSomebodyReadsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, slow := io.Pipe()
		s := serve(t, func(c *Config) { c.Stdout = slow }, script.Text(strings.Repeat("x", room)))
		s.say(user("one", uuid1))
		_ = s.in.Close()
		read := make(chan int, 1)
		go func() { // ends with the reader
			read <- trickle(reader)
		}()
		if code := s.exit(); code != stdio.CodeCompleted {
			t.Errorf("exit code %d", code)
		}
		_ = slow.Close()
		if n := <-read; n < 2*room { // as the model's, and in the result
			t.Errorf("%d bytes came", n)
		}
	})
}

// trickle reads a little every second, to the end, and returns how much.
func trickle(r io.Reader) (n int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	buf := make([]byte, 64<<10)
	for range tick.C {
		got, err := r.Read(buf)
		if n += got; err != nil {
			return n
		}
	}
	return n
}
