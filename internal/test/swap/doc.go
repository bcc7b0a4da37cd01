// Package swap is the attacker of the path tests: it exchanges two names in a tight
// loop, as a command that runs in the background can, while the code under test works
// with one of them. Each exchange is atomic (renameat2 with RENAME_EXCHANGE), so the
// name always leads somewhere: now to the file or folder that a decision was made
// about, now to a link out of the directory, a hard link or a FIFO.
//
//	s := swap.Start(t, name, other)      // exchanges until Stop, or the test's end
//	for range swap.Calls(400) { … }      // calls that must never see what other leads to
//	s.Stop()                             // name is again what it was
//
// The flag -swap-times multiplies the calls; .ci/run swaps makes ten times as many.
package swap
