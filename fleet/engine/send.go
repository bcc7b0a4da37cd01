package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/settle-agent/settle/fleet/index"
)

const (
	// sendSize is the number of tasks that are taken from the outbox at a time, and maxCalls the maximum
	// number of concurrent signals.
	sendSize, maxCalls = 200, 16
	// sendDelay is the wait between two searches of a worker for tasks that were not sent.
	sendDelay = time.Second
	// decisionTimeout is the time that Temporal waits for a worker that decides what a session does
	// next. That takes milliseconds, unless the worker has died.
	decisionTimeout = 3 * time.Second
)

// Send sends tasks to Temporal that were accepted. Tasks that Temporal does not take stay in the outbox.
// Send also sends tasks that earlier submissions left there: while no worker runs, no other program does.
func (e *Engine) Send(ctx context.Context, ids []string) error {
	for len(ids) > 0 {
		part := ids[:min(sendSize, len(ids))]
		ids = ids[len(part):]
		parcels, err := e.Index.Take(ctx, part)
		if err == nil {
			err = e.deliver(ctx, parcels)
		}
		if err != nil {
			return err
		}
	}
	if _, err := e.sendPart(ctx); err != nil {
		e.logger.Warn("cannot send earlier tasks to Temporal; they are sent again", "error", err)
	}
	return nil
}

// sendDue sends what is left in the outbox, until ctx ends.
func (e *Engine) sendDue(ctx context.Context) {
	for ctx.Err() == nil {
		sentAny, err := e.sendPart(ctx)
		if err != nil && ctx.Err() == nil {
			e.logger.Warn("cannot send tasks to Temporal; they are sent again", "error", err)
		}
		if err == nil && sentAny {
			continue
		}
		select {
		case <-time.After(sendDelay):
		case <-ctx.Done():
		}
	}
}

// sendPart sends a part of the outbox, and reports whether there was a task to send.
func (e *Engine) sendPart(ctx context.Context) (bool, error) {
	parcels, err := e.Index.TakeDue(ctx, sendSize)
	if err != nil || len(parcels) == 0 {
		return false, err
	}
	return true, e.deliver(ctx, parcels)
}

// deliver sends parcels, maxCalls at a time, and removes the sent tasks from the outbox. A parcel that Temporal
// refuses does not stop the others.
func (e *Engine) deliver(ctx context.Context, parcels []index.Parcel) error {
	var mu sync.Mutex
	var sent []index.Parcel
	var failures []error
	isDown := false // Temporal does not answer
	next := make(chan index.Parcel, len(parcels))
	for _, p := range parcels {
		next <- p // has room
	}
	close(next)
	var calls sync.WaitGroup
	for range min(maxCalls, len(parcels)) {
		calls.Go(func() { // ends with the parcels; a call is bounded
			for p := range next {
				mu.Lock()
				stop := isDown
				mu.Unlock()
				if stop {
					return
				}
				err := e.signal(ctx, p)
				mu.Lock()
				if err != nil {
					failures, isDown = append(failures, err), isDown || unreachable(err)
				} else {
					sent = append(sent, p)
				}
				mu.Unlock()
			}
		})
	}
	calls.Wait()
	return errors.Join(summary(failures), e.Index.MarkSent(context.WithoutCancel(ctx), sent))
}

// summary is the first one of several failures, with their number.
func summary(failures []error) error {
	switch len(failures) {
	case 0:
		return nil
	case 1:
		return failures[0]
	}
	return fmt.Errorf("%w; %d other sessions failed, too", failures[0], len(failures)-1)
}

// signal signals the session's workflow, and starts it if there is none. The signal has only the
// first task: when it has ended, Postgres has the next one.
func (e *Engine) signal(ctx context.Context, p index.Parcel) error {
	if p.Known {
		return nil
	}
	ref := p.Refs[0]
	attributes := e.registerAttributes(ctx)
	err := e.signalWith(ctx, p, ref, attributes)
	if invalid := (*serviceerror.InvalidArgument)(nil); attributes && errors.As(err, &invalid) {
		// The namespace does not have the search attributes yet: servers learn of new ones with
		// a delay.
		err = e.signalWith(ctx, p, ref, false)
	}
	if err != nil {
		return fmt.Errorf("cannot signal session %s in Temporal: %w", p.Session, err)
	}
	return nil
}

func (e *Engine) signalWith(ctx context.Context, p index.Parcel, ref index.Ref, attributes bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	o := client.StartWorkflowOptions{
		TaskQueue:           p.Queue,
		WorkflowTaskTimeout: decisionTimeout,
		StaticSummary:       strings.TrimSpace("tenant " + ref.Tenant + " " + ref.Batch),
		Priority:            temporal.Priority{FairnessKey: fairnessKey(ref.Tenant), FairnessWeight: ref.Weight},
	}
	if attributes {
		o.TypedSearchAttributes = startAttributes(ref)
	}
	_, err := e.client.SignalWithStartWorkflow(
		ctx, workflowID(p.Queue, p.Session), taskSignal, ref, o, sessionWorkflow,
		Input{Silence: e.options.Silence, Attributes: attributes},
	)
	return err
}

// maxFairnessKey is the maximum size of a fairness key in bytes, and keyPrefix the number of bytes of a longer name
// that its key keeps, for people.
const maxFairnessKey, keyPrefix = 64, 40

// fairnessKey is the tenant's name. A name that is too long for Temporal has its beginning and a hash as key.
func fairnessKey(tenant string) string {
	if len(tenant) <= maxFairnessKey {
		return tenant
	}
	hash := sha256.Sum256([]byte(tenant))
	return strings.ToValidUTF8(tenant[:keyPrefix], "") + "~" + hex.EncodeToString(hash[:8])
}

// unreachable reports whether a call did not reach a server that could answer it.
func unreachable(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, new(*serviceerror.Unavailable)) || errors.As(err, new(*serviceerror.DeadlineExceeded)) ||
		errors.As(err, new(*serviceerror.ResourceExhausted))
}

// Recover raises all fencing epochs, and sends every task that has not ended to Temporal again.
// It returns how many tasks that are. What it cannot send, workers do. Schedules that Temporal has
// lost are created again. If Temporal does not have the namespace, Recover changes nothing.
func (e *Engine) Recover(ctx context.Context) (tasks int64, err error) {
	if err := e.checkNamespace(ctx); err != nil {
		return 0, err
	}
	if tasks, err = e.Index.Recover(ctx); err != nil {
		return 0, err
	}
	if err := e.restoreSchedules(ctx); err != nil {
		return tasks, err
	}
	for {
		if sentAny, err := e.sendPart(ctx); err != nil || !sentAny {
			return tasks, err
		}
	}
}

// checkNamespace returns an error if Temporal does not have the engine's namespace: an empty server has none.
func (e *Engine) checkNamespace(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name := e.options.Namespace
	_, err := e.client.WorkflowService().
		DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return fmt.Errorf(
			"cannot recover: Temporal has no namespace %q; nothing was changed; create it (temporal operator "+
				"namespace create --namespace %s --retention 24h), then run recover again", name, name,
		)
	case err != nil:
		return fmt.Errorf("cannot recover: cannot ask Temporal for namespace %q: %w; nothing was changed", name, err)
	}
	return nil
}
