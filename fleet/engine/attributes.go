package engine

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet/index"
)

// The search attributes of a session's workflow, by which Temporal's UI and its command line find
// sessions. They are keywords.
const (
	tenantAttribute  = "SettleTenant"
	batchAttribute   = "SettleBatch"
	modelAttribute   = "SettleModel"
	stateAttribute   = "SettleState"   // open or ended
	outcomeAttribute = "SettleOutcome" // of the last task
)

// startAttributes returns the attributes of a session that begins with a task.
func startAttributes(ref index.Ref) temporal.SearchAttributes {
	updates := []temporal.SearchAttributeUpdate{
		temporal.NewSearchAttributeKeyKeyword(tenantAttribute).ValueSet(ref.Tenant),
		temporal.NewSearchAttributeKeyKeyword(stateAttribute).ValueSet("open"),
	}
	if ref.Batch != "" {
		updates = append(updates, temporal.NewSearchAttributeKeyKeyword(batchAttribute).ValueSet(ref.Batch))
	}
	if ref.Model != "" {
		updates = append(updates, temporal.NewSearchAttributeKeyKeyword(modelAttribute).ValueSet(ref.Model))
	}
	return temporal.NewSearchAttributes(updates...)
}

// endAttributes returns the changes of the attributes at the end of a session's workflow.
func endAttributes(outcome event.Outcome) []temporal.SearchAttributeUpdate {
	updates := []temporal.SearchAttributeUpdate{
		temporal.NewSearchAttributeKeyKeyword(stateAttribute).ValueSet("ended"),
	}
	if outcome != "" {
		updates = append(updates, temporal.NewSearchAttributeKeyKeyword(outcomeAttribute).ValueSet(string(outcome)))
	}
	return updates
}

// registerAttributes adds the search attributes to the namespace, and reports whether it has them.
func (e *Engine) registerAttributes(ctx context.Context) bool {
	e.attributesMu.Lock()
	defer e.attributesMu.Unlock()
	if e.hasAttributes || e.attributesRefused {
		return e.hasAttributes
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	operator := e.client.OperatorService()
	known, err := operator.ListSearchAttributes(
		ctx, &operatorservice.ListSearchAttributesRequest{Namespace: e.options.Namespace},
	)
	if err != nil {
		e.refuseAttributes(err)
		return false
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, name := range []string{tenantAttribute, batchAttribute, modelAttribute, stateAttribute, outcomeAttribute} {
		if _, ok := known.GetCustomAttributes()[name]; !ok {
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) > 0 {
		_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: e.options.Namespace, SearchAttributes: missing,
		})
		if err != nil {
			e.refuseAttributes(err)
			return false
		}
	}
	e.hasAttributes = true
	return true
}

// refuseAttributes notes that the search attributes cannot be added to the namespace.
func (e *Engine) refuseAttributes(err error) {
	if unreachable(err) {
		return // the next call tries again
	}
	e.attributesRefused = true
	e.logger.Warn(
		"the namespace has no search attributes for sessions; add them as docs/fleet-temporal.md says", "error", err,
	)
}
