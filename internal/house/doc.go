// Package house has no code, only the tests that hold the whole tree to the
// house style: imports that point downward, one place that starts processes,
// no work and no state at package level, and sizes. They read the sources and
// need nothing else.
package house
