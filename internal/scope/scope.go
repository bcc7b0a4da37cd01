package scope

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Scope collects the finalizers of one call of [Run].
type Scope struct {
	mu         sync.Mutex
	finalizers []finalizer
}

// finalizer gets the context to clean up in and the error with which the body
// left, nil if it returned well.
type finalizer func(ctx context.Context, exit error) error

// Ensure registers a finalizer that runs on every path. It receives the error of the
// body: its own, a [*PanicError], or nil.
func (s *Scope) Ensure(f func(ctx context.Context, exit error) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finalizers = append(s.finalizers, f)
}

// OnInterrupt registers a finalizer that runs only when the body left because its context was
// cancelled: with that cause, and never over an earlier error of the body's own. The body shows by
// its error that it gave way to the cancellation: it returns context.Cause of its context, perhaps
// wrapped.
func (s *Scope) OnInterrupt(ctx context.Context, f func(ctx context.Context, cause error) error) {
	s.Ensure(func(clean context.Context, exit error) error {
		cause := context.Cause(ctx)
		if cause == nil || !errors.Is(exit, cause) {
			return nil
		}
		return f(clean, cause)
	})
}

// Run calls body and then its finalizers, each at most once, under a context
// that carries ctx's values, is not cancelled with it, and ends after
// cleanTimeout in all. It returns the body's error joined with the errors of
// the finalizers. A panic of the body or of a finalizer becomes a [*PanicError]
// and keeps no other finalizer from running.
func Run(ctx context.Context, cleanTimeout time.Duration, body func(ctx context.Context, s *Scope) error) error {
	s := &Scope{}
	return s.clean(ctx, cleanTimeout, Guard(func() error { return body(ctx, s) }))
}

// clean calls the finalizers, and returns the errors of all with the body's.
func (s *Scope) clean(ctx context.Context, cleanTimeout time.Duration, exit error) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	errs := []error{exit}
	for f := s.pop(); f != nil; f = s.pop() {
		errs = append(errs, Guard(func() error { return f(clean, exit) }))
	}
	return errors.Join(errs...)
}

// pop removes the newest finalizer; one that registers another has it run next.
func (s *Scope) pop() finalizer {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.finalizers)
	if n == 0 {
		return nil
	}
	f := s.finalizers[n-1]
	s.finalizers = s.finalizers[:n-1]
	return f
}

// PanicError is a panic that was recovered at an edge.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Guard calls f and returns its error, or its panic as a [*PanicError].
// runtime.Goexit, which tests use, passes through.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
