// Package scope guarantees clean-up. [Run] calls a function and then, after every exit
// (return, error, panic, cancelled context), the finalizers that the function registered:
// in reverse order, once each, under a context that is not cancelled but has a deadline.
// Scopes nest. Read scope.go first.
//
// [Deferred] is a value that is set once, by any goroutine, and awaited by any number of
// goroutines. [Shield] and [Guard] stop panics at the boundaries of goroutines.
// [Allowance] is a time limit that can be paused. [Sleep] waits, but not longer than a context.
//
// Other files:
//
//   - shield.go: stops panics at a boundary
//   - allowance.go: a time that something may take
//   - deferred.go: a value that comes later
//   - sleep.go: waits that a context ends
package scope
