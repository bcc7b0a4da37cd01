package tool

import "context"

type hurryKey struct{}

// WithHurry returns a context in which [Hurry] returns the channel.
func WithHurry(ctx context.Context, hurry <-chan struct{}) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurry is closed when somebody who interrupted the turn asked again: a tool
// that is ending what it started skips what is left of its grace. It is nil,
// and never closed, where nobody can ask.
func Hurry(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}
