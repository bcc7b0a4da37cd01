package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
)

// HeldCall is a held call of a session on disk.
type HeldCall struct {
	event.HeldCall
	Session string
	// Sandboxed reports whether a sandbox confined the session's commands.
	Sandboxed bool
	// Short is the beginning of the ID that no other call has.
	Short string
}

// Runs reports whether the call was approved and waits for the next input of its session:
// its host ended before the turn started.
func (h HeldCall) Runs() bool { return h.Verdict != nil && h.Verdict.Held && h.Verdict.RunsCall() }

// HeldCalls returns the calls of all sessions that were ever held, also those of a host that
// died and whose session was not opened since.
func HeldCalls(dataDir string) (list []HeldCall, err error) {
	sessions, err := journal.List(dataDir)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		state, err := journal.Load(dataDir, s.Session)
		if err != nil {
			continue // deleted meanwhile, or a log that "settle sessions" reports as damaged
		}
		state = Recovered(dataDir, state)
		for _, h := range state.EverHeld() {
			list = append(list, HeldCall{
				HeldCall: h, Session: s.Session,
				Sandboxed: h.Approval.Sandbox.On() || state.Host.Confinement != nil && state.Host.Confinement.Mode.On(),
			})
		}
	}
	var ids []string
	for _, h := range list {
		ids = append(ids, h.ID)
	}
	short := Shortest(ids)
	for n := range list {
		list[n].Short = short[list[n].ID]
	}
	return list, nil
}

// Recovered returns the state of a session as its next host will find it: without what a dead
// host left open.
func Recovered(dataDir string, state event.State) event.State {
	if free, err := journal.Free(dataDir, state.Session); !state.Open || !free || err != nil {
		return state
	}
	return catalogue.Crashed(state)
}

// FindHeldCall returns the held call that a person means: by its id, or as much of its
// beginning as no other call has.
func FindHeldCall(dataDir, name string) (HeldCall, error) {
	list, err := HeldCalls(dataDir)
	if err != nil {
		return HeldCall{}, err
	}
	found := slices.DeleteFunc(list, func(h HeldCall) bool { return name == "" || !strings.HasPrefix(h.ID, name) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return HeldCall{}, fmt.Errorf("there is no held call %q; \"settle approvals\" lists held calls", name)
	}
	var names []string
	for _, h := range found[:min(len(found), maxCandidates)] {
		names = append(names, h.Short)
	}
	return HeldCall{}, fmt.Errorf("held call %q is ambiguous: %s; use more of the ID", name, strings.Join(names, ", "))
}
