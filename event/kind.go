package event

import (
	"encoding/json"
)

// Kind is the kind of an event, as written in the JSON.
type Kind string

// The kinds. Each has one data type, of the same name.
const (
	KindSessionOpened      Kind = "session.opened"
	KindSessionRecovered   Kind = "session.recovered"
	KindSessionClosed      Kind = "session.closed"
	KindInputAccepted      Kind = "input.accepted"
	KindInputHeld          Kind = "input.held"
	KindInputDropped       Kind = "input.dropped"
	KindInterruptRequested Kind = "interrupt.requested"
	KindTurnStarted        Kind = "turn.started"
	KindTurnCompleted      Kind = "turn.completed"
	KindTurnAborted        Kind = "turn.aborted"
	KindTurnFailed         Kind = "turn.failed"
	KindHistoryChanged     Kind = "history.changed"
	KindAttemptStarted     Kind = "attempt.started"
	KindAttemptEnded       Kind = "attempt.ended"
	KindItemStarted        Kind = "item.started"
	KindItemDelta          Kind = "item.delta"
	KindItemEnded          Kind = "item.ended"
	KindCallReady          Kind = "call.ready"
	KindCallStarted        Kind = "call.started"
	KindApprovalRequested  Kind = "approval.requested"
	KindApprovalEnded      Kind = "approval.ended"
	KindJobStarted         Kind = "job.started"
	KindJobEnded           Kind = "job.ended"
	KindChildStarted       Kind = "child.started"
	KindChildEnded         Kind = "child.ended"
	KindHookStarted        Kind = "hook.started"
	KindHookEnded          Kind = "hook.ended"
)

// Data is the closed union of event data: the types of this package
// that have a Kind, as values. A type switch with any other type does not compile.
// One with a pointer to a member does, and never matches.
type Data interface {
	Kind() Kind
	sealed()
}

// Unknown is the data of a kind that a newer settle wrote. It is carried as
// it is and folds to nothing.
type Unknown struct {
	Name Kind
	Raw  json.RawMessage
}

// Kind returns the kind as it was written.
func (u Unknown) Kind() Kind { return u.Name }
func (Unknown) sealed()      {}

// Kinds returns every kind of this version.
func Kinds() []Kind {
	return []Kind{
		KindSessionOpened, KindSessionRecovered, KindSessionClosed,
		KindInputAccepted, KindInputHeld, KindInputDropped, KindInterruptRequested,
		KindTurnStarted, KindTurnCompleted, KindTurnAborted, KindTurnFailed,
		KindHistoryChanged, KindAttemptStarted, KindAttemptEnded,
		KindItemStarted, KindItemDelta, KindItemEnded, KindCallReady, KindCallStarted,
		KindApprovalRequested, KindApprovalEnded,
		KindJobStarted, KindJobEnded, KindChildStarted, KindChildEnded, KindHookStarted, KindHookEnded,
	}
}

// decodeData is a table: one line a kind.
func decodeData(k Kind, raw json.RawMessage) (Data, error) {
	switch k {
	case KindSessionOpened:
		return decode[SessionOpened](raw)
	case KindSessionRecovered:
		return decode[SessionRecovered](raw)
	case KindSessionClosed:
		return decode[SessionClosed](raw)
	case KindInputAccepted:
		return decode[InputAccepted](raw)
	case KindInputHeld:
		return decode[InputHeld](raw)
	case KindInputDropped:
		return decode[InputDropped](raw)
	case KindInterruptRequested:
		return decode[InterruptRequested](raw)
	case KindTurnStarted:
		return decode[TurnStarted](raw)
	case KindTurnCompleted:
		return decode[TurnCompleted](raw)
	case KindTurnAborted:
		return decode[TurnAborted](raw)
	case KindTurnFailed:
		return decode[TurnFailed](raw)
	case KindHistoryChanged:
		return decode[HistoryChanged](raw)
	case KindAttemptStarted:
		return decode[AttemptStarted](raw)
	case KindAttemptEnded:
		return decode[AttemptEnded](raw)
	case KindItemStarted:
		return decode[ItemStarted](raw)
	case KindItemDelta:
		return decode[ItemDelta](raw)
	case KindItemEnded:
		return decode[ItemEnded](raw)
	case KindCallReady:
		return decode[CallReady](raw)
	case KindCallStarted:
		return decode[CallStarted](raw)
	case KindApprovalRequested:
		return decode[ApprovalRequested](raw)
	case KindApprovalEnded:
		return decode[ApprovalEnded](raw)
	case KindJobStarted:
		return decode[JobStarted](raw)
	case KindJobEnded:
		return decode[JobEnded](raw)
	case KindChildStarted:
		return decode[ChildStarted](raw)
	case KindChildEnded:
		return decode[ChildEnded](raw)
	case KindHookStarted:
		return decode[HookStarted](raw)
	case KindHookEnded:
		return decode[HookEnded](raw)
	}
	return Unknown{Name: k, Raw: raw}, nil
}

func decode[T Data](raw json.RawMessage) (Data, error) {
	var d T
	if len(raw) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	return d, nil
}
