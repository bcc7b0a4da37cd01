package turn_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/modeltest"
)

// providers are the real providers with the test server.
func providers(server *modeltest.Server) map[string]model.Provider {
	v1 := transport.Endpoint{BaseURL: server.OpenAI(), Client: server.Client()}
	return map[string]model.Provider{
		"responses": openai.New(openai.Options{Endpoint: v1}),
		"messages": anthropic.New(
			anthropic.Options{Endpoint: transport.Endpoint{BaseURL: server.Anthropic(), Client: server.Client()}},
		),
		"chat": chat.New(chat.Options{Endpoint: v1}),
	}
}

// everyFault is each kind of fault at each place, and each status with each
// form of Retry-After.
func everyFault() []modeltest.Fault {
	var faults []modeltest.Fault
	for _, at := range []modeltest.At{
		modeltest.BeforeHeaders, modeltest.AfterHeaders, modeltest.AfterDelta(1), modeltest.AfterDelta(4), modeltest.AfterDelta(7),
		modeltest.WithinArguments(1), modeltest.AfterCall(1), modeltest.WithinArguments(2), modeltest.AfterCall(2),
		modeltest.AfterItems, modeltest.BeforeEnd, modeltest.AfterEnd,
	} {
		faults = append(
			faults,
			modeltest.Reset(
				at,
			),
			modeltest.Cut(at),
			modeltest.Close(at),
			modeltest.Malformed(at),
			modeltest.ErrorEvent(at, "", ""),
			modeltest.Silence(at),
			modeltest.Pings(at, 10*time.Second),
			modeltest.Oversized(at, 40<<20),
			modeltest.Fault{Kind: modeltest.FaultUnknown, At: at},
		)
	}
	for _, code := range []int{400, 401, 403, 404, 408, 409, 429, 500, 503, 529} {
		faults = append(faults, modeltest.Status(code))
		for _, after := range []modeltest.RetryAfter{
			modeltest.RetrySeconds(5), modeltest.RetrySeconds(99_999_999), modeltest.RetrySeconds(-5),
			modeltest.RetryMillis(100), modeltest.RetryDate(9 * time.Second), modeltest.RetryMessage(3 * time.Second),
		} {
			faults = append(faults, modeltest.Status(code, after))
		}
	}
	faults = append(
		faults,
		modeltest.HTML(),
		modeltest.ContentType("text/plain"),
		modeltest.NoEnd(),
		modeltest.Drip(100*time.Millisecond),
	)
	for _, quirk := range []modeltest.FaultKind{
		modeltest.FaultCRLF, modeltest.FaultBareCR, modeltest.FaultComments, modeltest.FaultUnknowns, modeltest.FaultRepeat, modeltest.FaultSwap,
		modeltest.FaultSameIndex, modeltest.FaultReverseIndex, modeltest.FaultNoEventNames, modeltest.FaultEmptyIDs, modeltest.FaultSameIDs,
		modeltest.FaultNoIDs, modeltest.FaultNoIndexes, modeltest.FaultNoUsage, modeltest.FaultNoDone, modeltest.FaultFinishStop,
		modeltest.FaultWholeCalls, modeltest.FaultReasoningField, modeltest.FaultReasoningDetails,
	} {
		faults = append(faults, modeltest.Quirk(quirk))
	}
	return faults
}

// For every fault and every time of an interrupt, the turn ends by the contract, the strict
// server refuses no request, and the next turn completes.
func TestEveryFault(t *testing.T) {
	for at, wire := range []string{"responses", "messages", "chat"} {
		for n, fault := range everyFault() {
			if raced && (n+n/9)%3 != at { // each fault on one wire; everyFault has nine kinds at a place
				continue
			}
			for _, interrupt := range []int{0, 3, 9} {
				name := fmt.Sprintf(
					"%s/%d %s %s %d %s/interrupt %d", wire, n, fault.Kind, fault.At, fault.Status, fault.RetryAfter,
					interrupt,
				)
				t.Run(name, func(t *testing.T) {
					inBubble(t, func(t *testing.T) { strike(t, wire, fault, interrupt) })
				})
			}
		}
	}
}

// strike runs a turn with the fault, interrupted after the given number of deltas unless it is
// 0, and then another turn.
func strike(t *testing.T, wire string, fault modeltest.Fault, interrupt int) {
	t.Helper()
	if fault.Times == 0 {
		fault = fault.First(1)
	}
	whole := modeltest.Reply(
		modeltest.Think("I think I must look around."), modeltest.Text("Let me look at that."),
		modeltest.Call("a", `{"x":"a long argument"}`), modeltest.Call("b", `{"y":"another argument"}`),
	)
	server := modeltest.NewMemoryServer(t, modeltest.Scenario{
		Turns:  []modeltest.Turn{whole.With(fault)},
		Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Say("fine") },
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
