// Package jsonscan walks over the members of a JSON object without copying it. Streams send an
// event of a few fields for every word of the model; with this package, such an event costs one
// allocation, the word itself.
//
// It is as strict as encoding/json (the fuzz target compares the two), except
// that it gives up at a nesting of 1000 levels.
//
// Files:
//
//   - scan.go: members of objects
//   - array.go: elements of arrays
//   - skip.go: skips values
package jsonscan
