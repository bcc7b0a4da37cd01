// Package leak counts what a package's tests leave behind: goroutines, and on
// Linux descriptors and child processes, also those that got away from their
// parent. It is one line in the package's TestMain, and a leak fails the tests:
//
//	func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }
//
// Goroutines and descriptors from before the tests do not count, nor do goroutines and descriptors
// that Go keeps for the life of a process. The count waits for goroutines that are about to end.
// [Begin] and [Count.Left] do the same around anything else, such as a host that is closed.
//
// Files:
//
//   - leak.go: runs tests, then counts what they left
//   - goroutine.go: goroutines that tests left
//   - outside_linux.go: descriptors and processes that tests left
package leak
