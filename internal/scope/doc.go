// Package scope makes clean-up certain. [Run] calls a function and then, on
// every path out of it (return, error, panic, cancelled context), the
// finalizers that it registered: in reverse order, once each, under a context
// that is not cancelled but has a deadline. Scopes nest.
//
// [Deferred] is a value that is settled once, from wherever, and awaited by
// any number of goroutines.
package scope
