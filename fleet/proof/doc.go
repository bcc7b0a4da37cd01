// Package proof holds the fleet to the contract with real processes: workers that
// run commands are killed and stopped at random, over many turns; the database crashes
// and stops, and their messages to each other are lost.
//
//	tasks ─► workers ◄── kill -9, SIGSTOP … SIGCONT
//	            └─ proxy ─► database ◄── kill -9, SIGSTOP … SIGCONT
//	   └─► each ends once; its log keeps the contract; each call ran at most once,
//	       counted by the commands themselves; nothing is left running
package proof
