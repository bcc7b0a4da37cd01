package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
)

// recorder is a Temporal that counts signals and refuses those of some sessions.
type recorder struct {
	client.Client
	refuses string // the sessions' prefix
	states  map[string]*workflowpb.WorkflowExecutionInfo

	mu      sync.Mutex
	signals map[string]int // by workflow
}

// SignalWithStartWorkflow implements [client.Client].
func (r *recorder) SignalWithStartWorkflow(
	_ context.Context, id, _ string, _ any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	if r.refuses != "" && strings.HasPrefix(id, r.refuses) {
		return nil, serviceerror.NewInvalidArgument("refused")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signals[id]++
	return nil, nil
}

// DescribeWorkflowExecution implements [client.Client].
func (r *recorder) DescribeWorkflowExecution(
	_ context.Context, id, _ string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	info := r.states[id]
	if info == nil {
		return nil, serviceerror.NewNotFound("none")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil
}

// OperatorService implements [client.Client].
func (*recorder) OperatorService() operatorservice.OperatorServiceClient { return operator{} }

// operator has no search attributes.
type operator struct {
	operatorservice.OperatorServiceClient
}

// ListSearchAttributes implements the service.
func (operator) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return nil, serviceerror.NewPermissionDenied("no", "")
}

// recorded returns a place whose engine sends to a recorder.
func recordedPlace(t *testing.T) (*fleettest.Place, *engine.Engine, *recorder) {
	t.Helper()
	p, r := fleettest.New(t, &server), &recorder{signals: map[string]int{}}
	e := engine.Open(p.Pool, r, engine.Options{})
	p.Engine = e
	return p, e, r
}

// TestARefusedTaskDoesNotStopOthers: they are sent, whatever their order, and it stays in the outbox.
func TestARefusedTaskDoesNotStopOthers(t *testing.T) {
	p, _, r := recordedPlace(t)
	r.refuses = "bad"
	p.Submit(t, append(several(20, "bad"), several(40, "good")...)...)
	if len(r.signals) != 40 {
		t.Errorf("%d of 40 tasks were sent", len(r.signals))
	}
	if c, err := p.Index.Tally(t.Context(), index.Filter{}); err != nil || c.Outbox != 20 || c.OutboxAge <= 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestASubmissionSendsWhatIsDue: while no worker runs, nobody else does.
func TestASubmissionSendsWhatIsDue(t *testing.T) {
	p, e, r := recordedPlace(t)
	p.Engine = nil // whoever has accepted it has died
	p.Submit(t, fleet.Task{Session: "early", Prompt: "work"})
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.unit SET outbox = now()`); err != nil {
		t.Fatal(err)
	}
	p.Engine = e
	p.Submit(t, fleet.Task{Session: "late", Prompt: "work"})
	if r.signals["early"] != 1 || r.signals["late"] != 1 {
		t.Errorf("%v", r.signals)
	}
}

// TestInputsOfOneTurnNeedOneSignal: Temporal refuses more than 10,000.
func TestInputsOfOneTurnNeedOneSignal(t *testing.T) {
	p, _, r := recordedPlace(t)
	for _, input := range []string{"1", "2", "3"} {
		p.Submit(t, fleet.Task{Session: "s", Input: input, Prompt: "work"})
	}
	if c, err := p.Index.Tally(t.Context(), index.Filter{}); r.signals["s"] != 1 || err != nil || c.Outbox > 0 {
		t.Errorf("%v; %+v, %v", r.signals, c, err)
	}
}

// TestAnInputOfALostSession starts its workflow again: no worker has had the other task for a while.
func TestAnInputOfALostSession(t *testing.T) {
	p, _, r := recordedPlace(t)
	p.Submit(t, fleet.Task{Session: "s", Input: "1", Prompt: "work"})
	const age = `UPDATE settle_fleet.unit SET created = now() - interval '1 hour'`
	if _, err := p.Pool.Exec(t.Context(), age); err != nil {
		t.Fatal(err)
	}
	p.Submit(t, fleet.Task{Session: "s", Input: "2", Prompt: "work"})
	if r.signals["s"] != 2 {
		t.Errorf("%v", r.signals)
	}
}

// TestIdleSessionsAreWalkedThrough: each call has those that follow, and begins again at the end.
func TestIdleSessionsAreWalkedThrough(t *testing.T) {
	p, _, _ := recordedPlace(t)
	p.Submit(t, several(10, "s")...)
	seen, last := map[string]int{}, "anything"
	for range 10 {
		some, err := p.Index.IdleSessions(t.Context(), "settle", 0, last, 3)
		if err != nil || len(some) != 3 {
			t.Fatalf("%v, %v", some, err)
		}
		for _, session := range some {
			seen[session]++
			last = session
		}
	}
	for session, n := range seen {
		if n != 3 || len(seen) != 10 {
			t.Errorf("%s was seen %d times, of %d", session, n, len(seen))
		}
	}
}

// TestTasksThatTemporalHasLost are sent again, those that it has are not, and those that somebody has
// terminated end.
func TestTasksThatTemporalHasLost(t *testing.T) {
	p, e, r := recordedPlace(t)
	state := func(s enumspb.WorkflowExecutionStatus) *workflowpb.WorkflowExecutionInfo {
		return &workflowpb.WorkflowExecutionInfo{Status: s, CloseTime: timestamppb.New(time.Now().Add(time.Hour))}
	}
	r.states = map[string]*workflowpb.WorkflowExecutionInfo{
		"runs":       state(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING),
		"completed":  state(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED),
		"terminated": state(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED),
	}
	for _, session := range []string{"runs", "completed", "terminated", "lost"} {
		p.Submit(t, fleet.Task{Session: session, Prompt: "work"})
	}
	if n, err := e.SendLost(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("new tasks: %d, %v", n, err)
	}
	if n, err := e.SendLost(t.Context(), 0); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	p.Submit(t, fleet.Task{Session: "another", Prompt: "work"}) // sends what is due
	if r.signals["runs"] != 1 || r.signals["completed"] != 2 || r.signals["lost"] != 2 || r.signals["terminated"] != 1 {
		t.Errorf("%v", r.signals)
	}
	if u, err := p.Index.State(t.Context(), "terminated/1"); err != nil || u.State != fleet.Ended {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestCancelBefore leaves tasks alone that were submitted after the request.
func TestCancelBefore(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"})
	u, err := p.Index.State(t.Context(), "s/1")
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []struct {
		at    time.Time
		open  bool
		state fleet.State
	}{{u.Created.Add(-time.Second), false, fleet.Queued}, {u.Created, true, fleet.Ended}} {
		c, err := p.Index.CancelBefore(t.Context(), "s/1", "temporal", request.at)
		if err != nil || c.Open != request.open {
			t.Errorf("%+v: %+v, %v", request, c, err)
		}
		if u, err := p.Index.State(t.Context(), "s/1"); err != nil || u.State != request.state {
			t.Errorf("%+v: %+v, %v", request, u, err)
		}
	}
}
