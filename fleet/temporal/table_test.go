package temporal_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/temporal"
)

// stage is a Temporal that sends what the test says.
type stage struct {
	client.Client
	tasks chan string // activities that are sent; each is a token as well

	mu        sync.Mutex
	cancelled []string // activities
	failed    []string // activities that were failed
	final     []string // those of them that are not to be retried
	dismissed string   // the activity that is there, which somebody has terminated
}

// service is the API of a stage.
type service struct {
	workflowservice.WorkflowServiceClient
	stage *stage
}

func (s *stage) WorkflowService() workflowservice.WorkflowServiceClient { return service{stage: s} }

func (s *stage) ExecuteActivity(context.Context, client.StartActivityOptions, any, ...any) (client.ActivityHandle, error) {
	return nil, nil //nolint:nilnil // nobody looks at it
}

func (s *stage) GetActivityHandle(o client.GetActivityHandleOptions) client.ActivityHandle {
	return &handle{stage: s, id: o.ActivityID}
}

func (s service) PollActivityTaskQueue(ctx context.Context, _ *workflowservice.PollActivityTaskQueueRequest, _ ...grpc.CallOption) (*workflowservice.PollActivityTaskQueueResponse, error) {
	select {
	case id := <-s.stage.tasks:
		return &workflowservice.PollActivityTaskQueueResponse{ActivityId: id, TaskToken: []byte(id)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// RespondActivityTaskCanceled is refused as by the server (HandleCanceled in its
// chasm/lib/activity) where nobody has asked for it there.
func (s service) RespondActivityTaskCanceled(_ context.Context, r *workflowservice.RespondActivityTaskCanceledRequest, _ ...grpc.CallOption) (*workflowservice.RespondActivityTaskCanceledResponse, error) {
	s.stage.mu.Lock()
	defer s.stage.mu.Unlock()
	if !slices.Contains(s.stage.cancelled, string(r.GetTaskToken())) {
		return nil, serviceerror.NewInvalidArgument("unable to mark activity as canceled without activity being request canceled first")
	}
	return &workflowservice.RespondActivityTaskCanceledResponse{}, nil
}

func (s service) RespondActivityTaskFailed(_ context.Context, r *workflowservice.RespondActivityTaskFailedRequest, _ ...grpc.CallOption) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	s.stage.mu.Lock()
	defer s.stage.mu.Unlock()
	s.stage.failed = append(s.stage.failed, string(r.GetTaskToken()))
	if r.GetFailure().GetApplicationFailureInfo().GetNonRetryable() {
		s.stage.final = append(s.stage.final, string(r.GetTaskToken()))
	}
	return &workflowservice.RespondActivityTaskFailedResponse{}, nil
}

// has reports whether a list has the activity.
func (s *stage) has(list *[]string, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(*list, id)
}

type handle struct {
	client.ActivityHandle
	stage *stage
	id    string
}

func (h *handle) Cancel(context.Context, client.CancelActivityOptions) error {
	h.stage.mu.Lock()
	defer h.stage.mu.Unlock()
	h.stage.cancelled = append(h.stage.cancelled, h.id)
	return nil
}

func (h *handle) Describe(context.Context, client.DescribeActivityOptions) (*client.ActivityExecutionDescription, error) {
	if h.stage.dismissed != h.id {
		return nil, serviceerror.NewNotFound("there is no such activity")
	}
	d := &client.ActivityExecutionDescription{}
	d.Status = enumspb.ACTIVITY_EXECUTION_STATUS_TERMINATED
	return d, nil
}

// play opens an engine over a place and a stage.
func play(t *testing.T, s *stage, queue string) (*fleettest.Place, *temporal.Engine) {
	t.Helper()
	s.tasks = make(chan string, 10)
	p := fleettest.New(t, &server)
	e := temporal.Open(t.Context(), p.Pool, s, temporal.Options{Queue: queue, Silence: time.Minute})
	t.Cleanup(e.Close)
	return p, e
}

// until waits until it holds, and has workers beat meanwhile.
func until(t *testing.T, e *temporal.Engine, what string, room int, holds func(fleet.Orders) bool, workers ...string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; {
		for _, worker := range workers {
			o, err := e.Heartbeat(t.Context(), fleet.Beat{Worker: worker, Lease: time.Hour, Room: room})
			if err != nil {
				t.Fatal(err)
			}
			if holds(o) {
				return
			}
		}
		if time.Now().After(limit) {
			t.Fatalf("not yet: %s", what)
		}
		select {
		case <-e.Wake():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// began returns the attempt that has begun; its unit is "" if none has.
func began(o fleet.Orders) fleet.Attempt {
	if len(o.Begin) > 0 {
		return o.Begin[0]
	}
	return fleet.Attempt{}
}

// TestAttemptsThatTemporalSends: of a session's units that arrive at the same time, the
// first one begins, and a worker is told how old it is and whether another has died.
func TestAttemptsThatTemporalSends(t *testing.T) {
	s := &stage{}
	p, e := play(t, s, "")
	p.Submit(t, fleet.Task{Session: "s1", Input: "a", Prompt: "work"}, fleet.Task{Session: "s1", Input: "b", Prompt: "work"})
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.unit SET created = now() - interval '1 h', taken = now()`); err != nil {
		t.Fatal(err)
	}
	s.tasks <- "s1/b"
	s.tasks <- "s1/a"
	until(t, e, "the first unit begins", 2, func(o fleet.Orders) bool {
		a := began(o)
		if a.Unit != "" && (a.Unit != "s1/a" || a.Age < time.Hour || a.Rescued || len(o.Begin) > 1) {
			t.Errorf("%+v", o.Begin)
		}
		return a.Unit != ""
	}, "w1")
	until(t, e, "the second one is given back", 2, func(fleet.Orders) bool { return s.has(&s.failed, "s1/b") }, "w1")
	s.tasks <- "s1/a" // since the first worker was silent
	until(t, e, "the first unit begins again", 2, func(o fleet.Orders) bool {
		a := began(o)
		if a.Unit != "" && (a.Unit != "s1/a" || !a.Rescued || a.Number != 2) {
			t.Errorf("%+v", a)
		}
		return a.Unit != ""
	}, "w1")
}

// TestAnotherQueue: the activities of another queue are asked about by their own ids.
func TestAnotherQueue(t *testing.T) {
	s := &stage{dismissed: "mine:s1/1"}
	p, e := play(t, s, "mine")
	p.Submit(t, fleet.Task{Session: "s1", Prompt: "work"}, fleet.Task{Session: "s2", Prompt: "work"})
	if ok, err := e.Cancel(t.Context(), "s2/1", "somebody"); !ok || err != nil || !s.has(&s.cancelled, "mine:s2/1") {
		t.Errorf("%v, %v, %q", ok, err, s.cancelled)
	}
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.unit SET taken = now() - interval '1 min'`); err != nil {
		t.Fatal(err)
	}
	until(t, e, "the unit has ended", 0, func(fleet.Orders) bool {
		u, err := e.State(t.Context(), "s1/1")
		return err == nil && u.State == fleet.Ended && u.Cancel == "temporal"
	}, "w1")
}

// TestAUnitThatWasCancelledInPostgres ends its activity, which nobody has cancelled.
func TestAUnitThatWasCancelledInPostgres(t *testing.T) {
	s := &stage{}
	p, e := play(t, s, "")
	p.Submit(t, fleet.Task{Session: "s1", Prompt: "work"})
	s.tasks <- "s1/1"
	var a fleet.Attempt
	until(t, e, "the unit begins", 1, func(o fleet.Orders) bool { a = began(o); return a.Unit != "" }, "w1")
	if _, err := p.Engine.Cancel(t.Context(), a.Unit, "somebody"); err != nil {
		t.Fatal(err)
	}
	until(t, e, "the worker hears of it", 0, func(o fleet.Orders) bool { return o.Cancel[a.Unit] != "" }, "w1")
	if err := e.Complete(t.Context(), a, &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted}); err != nil {
		t.Fatal(err)
	}
	if !s.has(&s.final, a.Unit) {
		t.Error("Temporal would begin another attempt, again and again")
	}
}

// TestUnitsThatNobodyMoves are started again: one behind many that wait, and one whose
// worker of the other engine has died.
func TestUnitsThatNobodyMoves(t *testing.T) {
	p, e := play(t, &stage{}, "")
	p.Submit(t, fleet.Task{Session: "s1", Prompt: "work"})
	if o, err := p.Engine.Heartbeat(t.Context(), fleet.Beat{Worker: "other", Lease: time.Hour, Room: 1}); err != nil || len(o.Begin) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	p.Kill(t, "other")
	tasks := make([]fleet.Task, 1002)
	for n := range tasks {
		tasks[n] = fleet.Task{Prompt: "work"}
	}
	tasks[len(tasks)-1].Session = "s2"
	p.Submit(t, tasks...)
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.worker SET until = now() - interval '1 min';
		UPDATE settle_fleet.unit SET taken = now() - interval '1 min' WHERE session IN ('s1', 's2')`); err != nil {
		t.Fatal(err)
	}
	until(t, e, "both are started again", 0, func(fleet.Orders) bool {
		var left int
		if err := p.Pool.QueryRow(t.Context(), `SELECT count(*) FROM settle_fleet.unit WHERE state = 'running' OR taken IS NOT NULL`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0
	}, "w1")
	if u, err := e.State(t.Context(), "s1/1"); err != nil || u.Lost != 1 {
		t.Errorf("%+v, %v", u, err)
	}
}
