package event

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
)

// HeldCall is a tool call that needed a person's approval and had not started when the host of
// its session ended. The call has ended with its turn (C16); a person can still answer the
// question, and a new turn then runs exactly this call (C19). It is derived from the log.
//
//	waits ─ InputAccepted with HeldVerdict ─► approved ─ taken by a turn ─► runs as a new item
//	  ▲                                   └─► denied                   │
//	  └── the input is dropped, or the turn is ended first ────────────┘
type HeldCall struct {
	// ID is a hash of the session, the call, its directory and all that the question showed,
	// so that a verdict about one call never fits another.
	ID       string
	Turn     *Turn
	Item     *Item
	Approval *Approval
	// Verdict is the input with the verdict that counts; nil while the call waits for one. It is
	// Held while it waits for another input that takes it along.
	Verdict *Input
	// Lost is a verdict that does not count, since its turn ended before the call began; nil with a
	// Verdict, or if there is none.
	Lost *Input
	// Run is the call that the approval began, as a new item; nil before that, and for a denial. Next is
	// the id of the held call that Run became, since settle asked again and stopped then; else empty.
	Run  *Item
	Next string
}

// Question returns the question of the held call, as an approval that waits. It has the id
// of the held call.
func (h HeldCall) Question() *Approval {
	a := *h.Approval
	a.Approval, a.Ended, a.Held = h.ID, nil, true
	return &a
}

// HeldVerdict is a person's verdict about a held call: Approved or Denied.
type HeldVerdict struct {
	Call    string  `json:"call"` // id of the held call
	Turn    string  `json:"turn"`
	Item    string  `json:"item"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message,omitempty"` // message for the model
	// Permission is as in [ApprovalEnded].
	Permission string `json:"permission,omitempty"`
}

// RunsCall reports whether the turn of the input runs a call for it: a command of a person, or
// a held call that a person approved.
func (i Input) RunsCall() bool {
	return i.Command || i.HeldCall != nil && i.HeldCall.Verdict == Approved
}

// HeldCalls returns the calls that wait for a verdict, in order.
func (s State) HeldCalls() []HeldCall {
	return slices.DeleteFunc(s.EverHeld(), func(h HeldCall) bool { return h.Verdict != nil })
}

// HeldCall returns the held call with the id, also if it has a verdict.
func (s State) HeldCall(id string) (HeldCall, bool) {
	for _, h := range s.EverHeld() {
		if h.ID == id {
			return h, true
		}
	}
	return HeldCall{}, false
}

// EverHeld returns all calls that were ever held, in order, also with a verdict. The agent that made a call of a child
// session is gone, and imported events prove nothing about this machine: neither is held.
func (s State) EverHeld() (out []HeldCall) {
	if s.Host.Parent != "" {
		return nil
	}
	for _, t := range s.Turns {
		if !t.lostHost() || t.StartSeq <= s.Imported {
			continue
		}
		for _, a := range t.Approvals {
			if i := t.Item(a.Call); t.question(i) == a {
				h := HeldCall{Turn: t, Item: i, Approval: a}
				h.ID = s.heldID(h)
				out = append(out, h)
			}
		}
	}
	for n := range out {
		out[n].Verdict, out[n].Run, out[n].Lost = s.verdict(out[n])
	}
	for n, h := range out {
		if h.Run == nil {
			continue
		}
		if k := slices.IndexFunc(out, func(next HeldCall) bool { return next.Item == h.Run }); k >= 0 {
			out[n].Next = out[k].ID
		}
	}
	return out
}

// lostHost reports whether the turn ended because its host stopped or died, and for no other
// reason before. The end of a copy of a running turn is not its host's.
func (t *Turn) lostHost() bool {
	return t.Cause.ofHost() && (t.Interrupt == nil || t.Interrupt.Reason == Shutdown)
}

// ofHost reports whether the cause is the end of the host.
func (c *Cause) ofHost() bool {
	return c != nil && c.Outcome == Aborted && (c.Reason == Shutdown || c.Reason == Crashed) && c.By != Copier
}

// Copier is the By of endings in a copy of a session, whose original continues.
const Copier = "fork"

// Holds reports whether a call of the turn waits for a verdict, also before the turn itself has
// ended for the end of its host.
func (s State) Holds(t *Turn, i *Item) bool {
	if s.Host.Parent != "" || t.StartSeq <= s.Imported || t.Cause != nil && !t.lostHost() ||
		t.Interrupt != nil && t.Interrupt.Reason != Shutdown {
		return false
	}
	a := t.question(i)
	if a == nil {
		return false
	}
	verdict, _, _ := s.verdict(HeldCall{Turn: t, Item: i, Approval: a})
	return verdict == nil
}

// question returns the call's last question for a person if its answer did not come, or came too
// late for the call to start; else nil. The request of a call that a policy denies has no text: no
// client was asked, even if the host died before it wrote the denial.
func (t *Turn) question(i *Item) (last *Approval) {
	if i == nil || i.Started || i.Discarded || i.Status != ItemAborted || !i.Cause.ofHost() {
		return nil
	}
	for _, a := range t.Approvals {
		if a.Call == i.ID {
			last = a
		}
	}
	if last == nil || last.Text == "" || last.Child != "" || last.Form != nil || last.Ended == nil ||
		last.Ended.Policy != "" || last.Ended.Verdict != Expired && !last.granted() {
		return nil
	}
	return last
}

// verdict returns the input with the verdict that counts: the latest verdict that was not dropped
// and whose turn, if any, was not ended before it carried the verdict out. It also returns the call
// that the turn began for the verdict. Instead of both, it can return a verdict that was lost.
//
// The verdict names the turn and the item, which a copy of the session has as well; its ids of
// held calls are others.
func (s State) verdict(h HeldCall) (in *Input, run *Item, lost *Input) {
	fits := func(in Input) bool {
		return in.HeldCall != nil && in.HeldCall.Turn == h.Turn.ID && in.HeldCall.Item == h.Item.ID
	}
	if n := slices.IndexFunc(s.Waiting, fits); n >= 0 {
		return &s.Waiting[n], nil, nil
	}
	for _, t := range slices.Backward(s.Turns) {
		if n := slices.IndexFunc(t.Inputs, fits); n >= 0 {
			in := t.Inputs[n]
			run := t.run(&in)
			if t.lost(&in, run) {
				return nil, nil, &in
			}
			in.Held = false // it was, until the turn took it
			return &in, run, nil
		}
	}
	return nil, nil, nil
}

// run returns the call that the turn began for the input, or nil.
func (t *Turn) run(in *Input) *Item {
	if !in.RunsCall() {
		return nil
	}
	n := slices.IndexFunc(t.Items, func(i *Item) bool { return i.Attempt == "" && i.content.CallID == in.ID })
	if n < 0 {
		return nil
	}
	return t.Items[n]
}

// InputOf returns the input that made the turn begin the item: a command that a person entered, or the
// approval of a held call. It returns nil for an item of the model.
func (t *Turn) InputOf(i *Item) *Input {
	n := slices.IndexFunc(t.Inputs, func(in Input) bool { return i.Attempt == "" && i.content.CallID == in.ID })
	if n < 0 {
		return nil
	}
	return &t.Inputs[n]
}

// lost reports whether the turn was ended before it started the call that the input approved, or a person
// denied the call after all. If the host ended after it asked again, the new question is held instead.
func (t *Turn) lost(in *Input, run *Item) bool {
	switch {
	case !in.RunsCall() || t.Cause == nil || t.Cause.Outcome != Aborted:
		return false
	case run == nil:
		return true
	case run.Started || run.Status != ItemAborted:
		return false
	}
	questions := slices.DeleteFunc(slices.Clone(t.Approvals), func(a *Approval) bool { return a.Call != run.ID })
	if t.lostHost() {
		return len(questions) == 0
	}
	return !slices.ContainsFunc(questions, func(a *Approval) bool { return a.Ended.Verdict == Denied })
}

// heldID returns the hash that identifies the held call.
func (s State) heldID(h HeldCall) string {
	c, a := h.Item.content, h.Approval
	fields := []string{
		s.Session, h.Turn.ID, h.Item.ID, h.Turn.Dir, c.Name, c.Arguments, a.Approval, a.Tool, a.Text, a.Why, a.Covers,
	}
	for _, p := range a.Places {
		fields = append(fields, p.Path, p.Real, strconv.FormatBool(p.Shared))
	}
	sum := sha256.New()
	for _, f := range fields {
		sum.Write(binary.AppendUvarint(nil, uint64(len(f))))
		sum.Write([]byte(f))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
