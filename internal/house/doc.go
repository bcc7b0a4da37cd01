// Package house has no code, only the tests that hold the whole tree to the house style:
// imports that point downward (imports_test.go), one place that starts processes, paths
// that are resolved once (paths_test.go), goroutines that stop panics (boundary_test.go),
// no state at package level (state_test.go), prose (prose_test.go), names (names_test.go),
// sizes and layout (size_test.go, layout_test.go). They read the sources only.
package house
