package claude

import (
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// An answer counts that came before the end of the input, and none comes after it.
func TestAnswerBeforeTheInputEnds(t *testing.T) {
	for range 200 {
		out := stdio.NewOutput(io.Discard, func(err error) { t.Error(err) })
		d := &driver{outputs: outputs{out: lines{out, StreamJSON}}}
		got := make(chan error, 1)
		go func() { // ends with the answer
			raw, err := d.call(t.Context(), map[string]any{"subtype": "can_use_tool"})
			if string(raw) != `"yes"` {
				err = errors.Join(err, errors.New("the answer is "+string(raw)))
			}
			got <- err
		}()
		for d.calls.Len() == 0 {
			d.out.Flush() // until it was asked
		}
		d.answered(clientReply{RequestID: d.calls.Open()[0].Key, Response: json.RawMessage(`"yes"`)})
		d.calls.Close()
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if _, err := d.call(t.Context(), nil); !errors.Is(err, errInputClosed) {
			t.Fatalf("asked after the end: %v", err)
		}
		if err := d.out.Close(func() time.Duration { return clienttest.Patience }); err != nil {
			t.Fatal(err)
		}
	}
}
