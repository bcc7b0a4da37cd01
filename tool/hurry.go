package tool

import "context"

type hurryKey struct{}

// WithHurry returns a context in which [Hurry] returns the channel.
func WithHurry(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurry is closed when a client that interrupted the turn interrupts it again: a tool that
// ends its processes then skips the rest of its grace. It is nil, and never closed, if no
// client can interrupt.
func Hurry(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}
