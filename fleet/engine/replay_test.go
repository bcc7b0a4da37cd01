package engine_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/pglog"
)

// histories is where recorded histories are.
const histories = "testdata/histories"

// recorded are the sessions with a history, and what each history has.
var recorded = map[string]enumspb.EventType{
	"order":           enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
	"given-back":      enumspb.EVENT_TYPE_TIMER_FIRED,
	"cancelled":       enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
	"drained":         enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
	"killed":          enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
	"ended-by-others": enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
	"long":            enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
	"long-continued":  enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
}

// TestReplay: the workflow makes the same decisions as when the histories were recorded. A change
// that breaks sessions which run during an upgrade fails here.
func TestReplay(t *testing.T) {
	if *update {
		record(t)
	}
	for session, has := range recorded {
		history := read(t, session)
		found := false
		for _, e := range history.GetEvents() {
			found = found || e.GetEventType() == has
		}
		if !found {
			t.Errorf("the history of %s has no %s", session, has)
		}
		if found = strings.Contains(history.String(), "SettleState"); !found {
			t.Errorf("the session %s has no search attributes", session)
		}
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(engine.Session, workflow.RegisterOptions{Name: "settle.session"})
		if err := replayer.ReplayWorkflowHistory(nil, history); err != nil {
			t.Errorf("%s: %v; running sessions would break: use workflow.GetVersion for the change", session, err)
		}
	}
}

func read(t *testing.T, session string) *historypb.History {
	t.Helper()
	f, err := os.Open(filepath.Join(histories, session+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.HistoryFromJSON(plain, client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// longInputs is one more than the turns of a run.
const longInputs = 251

// record makes the histories: of tasks that run in order, of one that is given back, of one that
// is cancelled, of one whose worker ends, of one whose worker is killed, of a session that is cancelled
// in Temporal, and of a long one.
func record(t *testing.T) {
	p, e := newPlace(t)
	c := &crew{t: t, e: e}
	warming := c.work(e, fleet.Work{Worker: "w0", Slots: 1}, nil)
	warm(t, p)
	warming()
	killed(t, p)
	drain, began := make(chan struct{}), make(chan string, 3)
	short := fleet.Work{Worker: "w1", Slots: 1, Drain: time.Millisecond}
	first := c.work(e, short, func(ctx context.Context, _ fleet.Attempt, _ context.Context) *fleet.Result {
		close(drain)
		<-ctx.Done()
		return nil
	})
	p.Submit(t, fleet.Task{Session: "drained", Prompt: "work"})
	<-drain
	first()
	last := fleet.Work{Worker: "w2", Slots: 8}
	c.work(e, last, func(_ context.Context, a fleet.Attempt, cancelled context.Context) *fleet.Result {
		return recordedRun(a, cancelled, began)
	})
	p.Submit(
		t,
		fleet.Task{Session: "order", Input: "1", Prompt: "work", Tenant: "acme", Batch: "b"},
		fleet.Task{Session: "order", Input: "2", Prompt: "work"},
		fleet.Task{Session: "given-back", Prompt: "work"},
		fleet.Task{Session: "cancelled", Prompt: "work"},
		fleet.Task{Session: "ended-by-others", Input: "1", Prompt: "work"},
		fleet.Task{Session: "ended-by-others", Input: "2", Prompt: "work"},
	)
	var long []fleet.Task
	for n := range longInputs {
		long = append(long, fleet.Task{Session: "long", Input: fmt.Sprint(n + 1), Prompt: "work"})
	}
	p.Submit(t, long...)
	for range 2 {
		switch session := <-began; session {
		case "cancelled":
			if ok, err := e.Cancel(t.Context(), session+"/1", "ada"); !ok || err != nil {
				t.Fatal(ok, err)
			}
		default:
			if err := temporalServer.Client(t).CancelWorkflow(t.Context(), temporalServer.Last()+":"+session, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, p)
	if err := os.MkdirAll(histories, 0o750); err != nil {
		t.Fatal(err)
	}
	for session := range recorded {
		write(t, session)
	}
}

// recordedRun is how a task goes whose history is recorded.
func recordedRun(a fleet.Attempt, cancelled context.Context, began chan<- string) *fleet.Result {
	switch session := a.Task.Session; {
	case session == "given-back" && a.Number < 3:
		return nil
	case session == "cancelled" || session == "ended-by-others" && a.Task.Input == "1":
		began <- session
		<-cancelled.Done()
		return &fleet.Result{Outcome: event.Aborted, Reason: event.Interrupted}
	}
	return &fleet.Result{Outcome: event.Completed}
}

// The variables that make the test binary, run anew, a worker that never ends its turns.
const (
	killedWorkerVar = "FLEET_ENGINE_KILLED_WORKER" // the database
	addressVar      = "FLEET_ENGINE_TEMPORAL"
	queueVar        = "FLEET_ENGINE_QUEUE"
	turnBegan       = "began"
)

// killed has a worker begin a turn of the session killed, and kills it.
func killed(t *testing.T, p *fleettest.Place) {
	t.Helper()
	p.Submit(t, fleet.Task{Session: "killed", Prompt: "work"})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedWorkerVar+"="+p.URL)
	cmd.Env = append(cmd.Env, addressVar+"="+temporalServer.Address(t), queueVar+"="+temporalServer.Last())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out) // the SDK logs there as well
	for lines.Scan() && lines.Text() != turnBegan {
	}
	if lines.Err() != nil || lines.Text() != turnBegan {
		t.Fatalf("the worker that must be killed does not begin: %v", lines.Err())
	}
	if err := errors.Join(cmd.Process.Kill(), out.Close()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// runKilledWorker runs the worker of [killed].
func runKilledWorker() error {
	pool, err := pglog.Connect(context.Background(), os.Getenv(killedWorkerVar))
	if err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: os.Getenv(addressVar)})
	if err != nil {
		return err
	}
	return engine.Open(pool, c, engine.Options{Queue: os.Getenv(queueVar)}).Work(context.Background(), fleet.Work{
		Worker: "killed", Slots: 1, Run: func(context.Context, context.Context, *fleet.Attempt) {
			fmt.Println(turnBegan)
			select {} // until it is killed
		},
	})
}

// write stores a run of a session: the first one, or the last one if its name says so.
func write(t *testing.T, session string) {
	t.Helper()
	name, last := strings.CutSuffix(session, "-continued")
	c, id := temporalServer.Client(t), temporalServer.Last()+":"+name
	if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err != nil && !temporal.IsCanceledError(err) {
		t.Fatal(err)
	}
	h := historyOf(t, c, id, "")
	if first := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId(); !last {
		h = historyOf(t, c, id, first)
	}
	raw, err := protojson.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(raw)
	err = errors.Join(err, w.Close())
	if err == nil {
		err = os.WriteFile(filepath.Join(histories, session+".json.gz"), packed.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func historyOf(t *testing.T, c client.Client, id, run string) *historypb.History {
	t.Helper()
	h := &historypb.History{}
	events := c.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return h
}
