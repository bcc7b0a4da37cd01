package rpc

import (
	"context"
	"errors"

	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// Question is a question that the client has as a request, which it answers with an A.
type Question[A any] struct {
	Sent *jsonrpc.Outgoing
	// Read converts the client's answer, or its error.
	Read func(A, error) (asker.Answer, error)
	// Back notifies the client that an answer is no longer needed.
	Back func(*jsonrpc.Outgoing)
}

// Await implements [asker.SentQuestion].
func (q Question[A]) Await(ctx context.Context) (asker.Answer, error) {
	var answer A
	err := q.Sent.Wait(ctx, &answer)
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, jsonrpc.ErrCancelled) {
		return asker.Answer{}, asker.ErrGone
	}
	return q.Read(answer, err)
}

// Withdraw implements [asker.SentQuestion].
func (q Question[A]) Withdraw() { q.Back(q.Sent) }
