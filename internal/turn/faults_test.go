package turn_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/settletest"
	"github.com/settle-agent/settle/settletest/contract"
)

// providers are the real ones, talking to the server.
func providers(server *settletest.Server) map[string]model.Provider {
	v1 := transport.Endpoint{BaseURL: server.OpenAI(), Client: server.Client()}
	return map[string]model.Provider{
		"responses": openai.New(openai.Options{Endpoint: v1}),
		"messages":  anthropic.New(anthropic.Options{Endpoint: transport.Endpoint{BaseURL: server.Anthropic(), Client: server.Client()}}),
		"chat":      chat.New(chat.Options{Endpoint: v1}),
	}
}

// everyFault is each kind of fault at each place, and each status with each
// form of Retry-After.
func everyFault() []settletest.Fault {
	var faults []settletest.Fault
	for _, at := range []settletest.At{
		settletest.BeforeHeaders, settletest.AfterHeaders, settletest.AfterDelta(1), settletest.AfterDelta(4), settletest.AfterDelta(7),
		settletest.WithinArguments(1), settletest.AfterCall(1), settletest.WithinArguments(2), settletest.AfterCall(2),
		settletest.AfterItems, settletest.BeforeEnd, settletest.AfterEnd,
	} {
		faults = append(faults,
			settletest.Reset(at), settletest.Cut(at), settletest.Close(at), settletest.Malformed(at), settletest.ErrorEvent(at, "", ""),
			settletest.Silence(at), settletest.Pings(at, 10*time.Second), settletest.Oversized(at, 40<<20),
			settletest.Fault{Kind: settletest.FaultUnknown, At: at})
	}
	for _, code := range []int{400, 401, 403, 404, 408, 409, 429, 500, 503, 529} {
		faults = append(faults, settletest.Status(code))
		for _, after := range []settletest.RetryAfter{
			settletest.RetrySeconds(5), settletest.RetrySeconds(99_999_999), settletest.RetrySeconds(-5),
			settletest.RetryMillis(100), settletest.RetryDate(9 * time.Second), settletest.RetryMessage(3 * time.Second),
		} {
			faults = append(faults, settletest.Status(code, after))
		}
	}
	faults = append(faults, settletest.HTML(), settletest.ContentType("text/plain"), settletest.NoEnd(), settletest.Drip(100*time.Millisecond))
	for _, quirk := range []settletest.FaultKind{
		settletest.FaultCRLF, settletest.FaultBareCR, settletest.FaultComments, settletest.FaultUnknowns, settletest.FaultRepeat, settletest.FaultSwap,
		settletest.FaultSameIndex, settletest.FaultReverseIndex, settletest.FaultNoEventNames, settletest.FaultEmptyIDs, settletest.FaultSameIDs,
		settletest.FaultNoIDs, settletest.FaultNoIndexes, settletest.FaultNoUsage, settletest.FaultNoDone, settletest.FaultFinishStop,
		settletest.FaultWholeCalls, settletest.FaultReasoningField, settletest.FaultReasoningDetails,
	} {
		faults = append(faults, settletest.Quirk(quirk))
	}
	return faults
}

// TestEveryFault: whatever goes wrong with a response, and wherever the turn is
// interrupted meanwhile, it ends by the contract, the strict server refuses no
// request, and the next turn completes.
func TestEveryFault(t *testing.T) {
	for _, wire := range []string{"responses", "messages", "chat"} {
		for n, fault := range everyFault() {
			for _, interrupt := range []int{0, 3, 9} {
				name := fmt.Sprintf("%s/%d %s %s %d %s/interrupt %d", wire, n, fault.Kind, fault.At, fault.Status, fault.RetryAfter, interrupt)
				t.Run(name, func(t *testing.T) {
					inBubble(t, func(t *testing.T) { strike(t, wire, fault, interrupt) })
				})
			}
		}
	}
}

// strike runs a turn with the fault, interrupted after that many deltas unless
// it is 0, and then another one.
func strike(t *testing.T, wire string, fault settletest.Fault, interrupt int) {
	t.Helper()
	if fault.Times == 0 {
		fault = fault.First(1)
	}
	whole := settletest.Reply(
		settletest.Think("I think I must look around."), settletest.Text("Let me look at that."),
		settletest.Call("a", `{"x":"a long argument"}`), settletest.Call("b", `{"y":"another argument"}`),
	)
	server := settletest.NewMemoryServer(t, settletest.Scenario{
		Turns:  []settletest.Turn{whole.With(fault)},
		Answer: func(settletest.Request) settletest.Turn { return settletest.Say("fine") },
	})
	b := newBenchOn(t, journal.NewMemory("s"), script.New(), says("a", "A", time.Second), says("b", "B", 0))
	b.config.Model.Provider, b.config.Model.ProviderName = providers(server)[wire], wire
	b.config.Model.TextAfterCalls = wire != "messages"

	ctx, cancel := context.WithCancelCause(t.Context())
	if interrupt > 0 {
		// Ends with the deltas or with the turn, whichever is first.
		go func() {
			if _, err := server.WaitDeltas(ctx, 1, interrupt); err == nil {
				cancel(event.Abort(event.Interrupted, "user"))
			}
		}()
	}
	first := b.run(ctx)
	cancel(nil)
	if second := b.run(t.Context()); second.Outcome != event.Completed {
		t.Errorf("the next turn: %v (this one: %v)", second, first)
	}
	for _, refusal := range server.Refusals() {
		t.Errorf("C6: a request was refused: %s", refusal)
	}
	if err := contract.Check(b.events()); err != nil {
		t.Error(err)
	}
}

// events returns the log.
func (b *bench) events() []event.Event {
	b.t.Helper()
	var out []event.Event
	last := b.log.Seq()
	for e, err := range b.log.Events(b.t.Context(), 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		if out = append(out, e); e.Seq >= last {
			break
		}
	}
	return out
}
