package contract_test

import (
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// A turn that never ended: nobody wrote its terminal event.
func ExampleCheck() {
	log := []event.Event{
		{V: 1, Session: "s1", Seq: 1, Data: event.SessionOpened{Dir: "/"}},
		{V: 1, Session: "s1", Seq: 2, Data: event.InputAccepted{Input: "n000001", Text: "hi"}},
		{V: 1, Session: "s1", Seq: 3, Turn: "t000001", Data: event.TurnStarted{Inputs: []string{"n000001"}}},
	}
	fmt.Println(contract.Check(log))
	fmt.Println(contract.Checker{Unfinished: true}.Check(log))
	// Output:
	// C1: at the end: turn t000001 has no terminal event
	// <nil>
}
