package contract_test

import (
	"bytes"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/modeltest/endings"
)

// A log that the contract's checker accepts is accepted by the checker for any agent; and both
// refuse it without one of its endings.
func TestEndingsAgree(t *testing.T) {
	whole := good().log()
	for skip := -1; skip < len(whole); skip++ {
		var lines []byte
		var log []event.Event
		for i, e := range whole {
			if i == skip {
				continue
			}
			raw, err := e.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, raw...), '\n')
			log = append(log, e)
		}
		records, err := endings.Read(bytes.NewReader(lines), endings.Settle)
		if err != nil {
			t.Fatal(err)
		}
		violations := endings.Checker{}.Check(records)
		switch {
		case skip < 0 && (len(violations) > 0 || contract.Check(log) != nil):
			t.Errorf("the whole log: %v, %v", violations, contract.Check(log))
		case skip >= 0 && len(violations) > 0 && contract.Check(log) == nil:
			t.Errorf(
				"without event %d (%s): %v, and the contract's checker sees nothing", skip+1, whole[skip].Kind(),
				violations,
			)
		case skip >= 0 && len(violations) == 0 && ends(whole[skip].Data):
			t.Errorf("without event %d (%s) nothing is missing", skip+1, whole[skip].Kind())
		}
	}
}

func ends(d event.Data) bool {
	switch d.(type) {
	case event.TurnCompleted, event.TurnAborted, event.TurnFailed, event.AttemptEnded, event.ItemEnded, event.ApprovalEnded, event.JobEnded, event.ChildEnded:
		return true
	}
	return false
}
