package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
)

// HeldCall is a held call of a session on disk.
type HeldCall struct {
	event.HeldCall
	Session string
	// Sandboxed reports whether a sandbox confined the commands of the call's turn.
	Sandboxed bool
	// Short is the beginning of the ID that no other call has, NextShort the beginning of Next.
	Short, NextShort string
}

// Runs reports whether the call was approved and waits for the next input of its session: its
// host ended before the turn started, or a person interrupted the turn before it.
func (h HeldCall) Runs() bool { return h.Verdict != nil && h.Verdict.Held && h.Verdict.RunsCall() }

// HeldCalls returns the calls of all sessions that were ever held, including the calls of a host
// that died and whose session was not opened since.
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
		calls := state.EverHeld()
		if len(calls) == 0 {
			continue
		}
		confined := confinedTurns(dataDir, s.Session)
		for _, h := range calls {
			list = append(list, HeldCall{
				HeldCall: h, Session: s.Session, Sandboxed: h.Approval.Sandbox.On() || confined[h.Turn.ID],
			})
		}
	}
	var ids []string
	for _, h := range list {
		ids = append(ids, h.ID)
	}
	short := Shortest(ids)
	for n := range list {
		list[n].Short, list[n].NextShort = short[list[n].ID], short[list[n].Next]
	}
	return list, nil
}

// confinedTurns returns the turns of a session whose host confined commands. Later hosts of the
// session can have another sandbox, or none.
func confinedTurns(dataDir, session string) map[string]bool {
	turns, confined := map[string]bool{}, false
	for e, err := range journal.Read(context.Background(), dataDir, session, 0) {
		if err != nil {
			break // the state of the session ends here, too
		}
		switch d := e.Data.(type) {
		case event.SessionOpened:
			confined = d.Confinement != nil && d.Confinement.Mode.On()
		case event.TurnStarted:
			turns[e.Turn] = confined
		}
	}
	return turns
}

// Recovered returns the state of a session after its next host has ended everything that a dead
// host left open.
func Recovered(dataDir string, state event.State) event.State {
	if free, err := journal.Free(dataDir, state.Session); !state.Open || !free || err != nil {
		return state
	}
	return catalogue.Crashed(state)
}

// ErrRecovering reports that a process is opening a session whose host has died, and has not
// recorded that end yet.
var ErrRecovering = errors.New("another process opens its session now")

// isRecovering reports whether a session that is being recovered has the held call, or will have it.
func isRecovering(dataDir, name string) bool {
	sessions, _ := journal.List(dataDir) // a session that cannot be read has no held call
	for _, s := range sessions {
		state, err := journal.Load(dataDir, s.Session)
		if err != nil || name == "" {
			continue
		}
		has := func(h event.HeldCall) bool { return strings.HasPrefix(h.ID, name) }
		if slices.ContainsFunc(state.EverHeld(), has) { // it was recovered since
			return true
		}
		if !state.Open || proc.Find(state.Host.Process) == proc.Present {
			continue
		}
		if slices.ContainsFunc(catalogue.Crashed(state).EverHeld(), has) {
			return true
		}
	}
	return false
}

// FindHeldCall returns the held call that a person means: by its id, or as much of its
// beginning as no other call has. The error is [ErrRecovering] if the call can be found soon.
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
		if isRecovering(dataDir, name) {
			return HeldCall{}, fmt.Errorf("cannot find held call %q: %w", name, ErrRecovering)
		}
		return HeldCall{}, fmt.Errorf("there is no held call %q; \"settle approvals\" lists held calls, and "+
			"\"settle attach\" answers the question of a session that runs", name)
	}
	var names []string
	for _, h := range found[:min(len(found), maxCandidates)] {
		names = append(names, h.Short)
	}
	return HeldCall{}, fmt.Errorf("held call %q is ambiguous: %s; use more of the ID", name, strings.Join(names, ", "))
}
