package attach

import (
	"bufio"
	"encoding/json"
	"net"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// A host that accepts an input and is stopped before it answers has the input: the same text later
// is another input.
func TestInputAcceptedBeforeMissingAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		s := &Session{conn: here, accepted: map[string]bool{}}
		s.begin(answer{Host: &Host{PID: 1}})
		sent := make(chan string)
		go func() { // ends with the connection
			defer close(sent)
			for lines := bufio.NewScanner(there); lines.Scan(); {
				var call struct {
					Params submission `json:"params"`
				}
				if json.Unmarshal(lines.Bytes(), &call) != nil {
					return
				}
				s.confirm(event.Event{Data: event.InputAccepted{Input: call.Params.Input}})
				sent <- call.Params.Input
			}
		}()
		var ids []string
		for range 2 {
			done := make(chan error)
			go func() { done <- s.Submit(t.Context(), settle.Input{Text: "continue"}) }() // ends at its timeout
			ids = append(ids, <-sent)
			if err := <-done; err != nil {
				t.Errorf("an accepted input: %v", err)
			}
		}
		if ids[0] == ids[1] {
			t.Errorf("both inputs are %s", ids[0])
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = there.Close() // the host ends
		for range sent {
		}
	})
}
