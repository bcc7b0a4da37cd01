// Package shake varies the order in which goroutines run, from a seed.
//
// Nothing imports it in a normal build. The program in overlay writes a source
// overlay (go build -overlay) in which [Point] is called before and after each
// operation by which goroutines meet: channel operations, locks, updates of the
// log, and go statements. The simulation then plays each script under another
// schedule: `make shake`, docs/proof.md.
//
//	the session's sources ─ overlay ─► the same, with points ─ go test -overlay ─► TestSimulation
//
// Files:
//
//   - point.go: whether a goroutine gives way
//   - held.go: where locks are held
//   - lines.go: the build with points
package shake
