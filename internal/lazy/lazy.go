// Package lazy holds values that are computed when they are first needed.
//
// It owns no value, only the way to it: sync.OnceValue is compiled anew wherever it
// is called, which costs the binary about 1 kB each time. Here all values of a kind
// share one copy.
package lazy

import (
	"regexp"
	"sync"
)

// Value returns what get returns, which it calls once, when it is first called.
//
//go:noinline
func Value[T any](get func() T) func() T { return sync.OnceValue(get) }

// Values is Value for two, such as a value and an error.
//
//go:noinline
func Values[A, B any](get func() (A, B)) func() (A, B) { return sync.OnceValues(get) }

// Regexp returns the regular expression, compiled when it is first called.
//
//go:noinline
func Regexp(expression string) func() *regexp.Regexp {
	return Value(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
