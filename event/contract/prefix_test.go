package contract_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

func TestCheckRequests(t *testing.T) {
	started := func(id string) event.Event {
		return event.Event{Attempt: id, Data: event.AttemptStarted{Provider: "p", Model: "m"}}
	}
	ended := func(id string, d event.AttemptEnded) event.Event { return event.Event{Attempt: id, Data: d} }
	changed := func(c event.Change) event.Event {
		return event.Event{Data: event.HistoryChanged{Change: c, Provider: "p", Model: "m"}}
	}
	first := contract.Request{Attempt: "a1", Basis: "b", Items: []string{"x", "y"}}
	longer := contract.Request{Attempt: "a2", Basis: "b", Items: []string{"x", "y", "z"}}
	other := contract.Request{Attempt: "a2", Basis: "b", Items: []string{"x", "Y", "z"}}
	shorter := contract.Request{Attempt: "a2", Basis: "b", Items: []string{"x"}}
	based := contract.Request{Attempt: "a2", Basis: "c", Items: longer.Items}
	for name, c := range map[string]struct {
		between []event.Event
		next    contract.Request
		want    string
	}{
		"it is extended":         {nil, longer, ""},
		"an item differs":        {nil, other, "item 2"},
		"it is shorter":          {nil, shorter, "1 items"},
		"another basis":          {nil, based, "instructions"},
		"shortened":              {[]event.Event{changed(event.ChangeShortened)}, shorter, ""},
		"the basis changed":      {[]event.Event{changed(event.ChangeBasis)}, based, ""},
		"a window is no epoch":   {[]event.Event{changed(event.ChangeWindow)}, other, "item 2"},
		"an image was refused":   {[]event.Event{ended("a1", event.AttemptEnded{Failure: &event.Failure{Kind: "image_refused"}})}, other, ""},
		"words were refused":     {[]event.Event{ended("a1", event.AttemptEnded{StopReason: "refusal"})}, other, ""},
		"the server failed":      {[]event.Event{ended("a1", event.AttemptEnded{Failure: &event.Failure{Kind: "server", Status: 500}})}, other, "item 2"},
		"another model's change": {[]event.Event{{Data: event.HistoryChanged{Change: event.ChangeShortened, Provider: "p", Model: "n"}}}, other, "item 2"},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(append([]event.Event{started("a1")}, c.between...), started("a2"))
			err := contract.CheckRequests(events, []contract.Request{first, c.next})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || contract.Violations(err)[0].Clause != "C21"):
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
	trial := []event.Event{
		started("a0"), changed(event.ChangeLeftOut), started("a1"), {Data: event.TurnFailed{}}, started("a2"),
	}
	if err := contract.CheckRequests(trial, []contract.Request{first, other}); err != nil {
		t.Errorf("what was left out on trial may come back with the next turn: %v", err)
	}
}
