package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/settle-agent/settle/fleet"
)

// mute is a service that takes heartbeats and says nothing.
type mute struct {
	workflowservice.WorkflowServiceClient
}

func (mute) RecordActivityTaskHeartbeat(ctx context.Context, _ *workflowservice.RecordActivityTaskHeartbeatRequest, _ ...grpc.CallOption) (*workflowservice.RecordActivityTaskHeartbeatResponse, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestHeartbeatsAreBounded, however many units the worker has: it renews its lease in
// time while Temporal does not answer. What was not sent is due again.
func TestHeartbeatsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{options: Options{Silence: defaultSilence}, service: mute{}, logger: slog.New(slog.DiscardHandler)}
		m := &member{id: "w", holds: map[string]*hold{}}
		x := &exchange{orders: fleet.Orders{Holds: map[string]int64{}}}
		for n := range 128 {
			unit := fmt.Sprintf("s%d/1", n)
			m.holds[unit], x.orders.Holds[unit] = &hold{attempt: fleet.Attempt{Unit: unit}}, 0
		}
		const most = 2 * time.Second
		for range 2 {
			begin := time.Now()
			e.beat(t.Context(), m, x, most)
			if took := time.Since(begin); took != most {
				t.Errorf("they took %v", took)
			}
		}
	})
}
