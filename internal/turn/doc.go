// Package turn runs one turn, from the request that it was started for to its
// one terminal event.
//
//	scope.Run(turn)                          C11: the finalizers run once, last
//	 ├─ Ensure: log.Update(event.Endings)    C1, C2: whatever happened
//	 ├─ OnInterrupt: note the cause
//	 ├─ Ensure: cancel the calls, wait interrupt_grace for all in parallel
//	 └─ work, until a response asks for no tool:
//	     ├─ respond: attempt, retry within the budget, attempt, …
//	     │   └─ attempt: Stream ─► pump ─► select { chunk, watchdog, cancelled }
//	     │                                     └─ demux ─► log; call ready ─► call
//	     ├─ await the calls of the step
//	     └─ limits
//
// Each file is one of these: turn.go the frame, work.go the loop, attempt.go
// one request, demux.go its chunks, call.go one tool call, watchdog.go the
// stall bounds, retry.go the budget, limiter.go the shared rate limit,
// repeats.go the guard against going in circles, failure.go errors as the log
// keeps them.
//
// The log is the only state that outlives a moment: every step is decided
// inside log.Update, from the state it sees. What runs beside the turn's own
// goroutine (the pump of a stream, a call, the tool of a call) can at most
// settle a Deferred or append through Update, and is too late to do either once
// its ending is in the log.
package turn
