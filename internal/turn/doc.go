// Package turn runs one turn, from the inputs that start it to its terminal event.
//
//	scope.Run(turn)                          C11: the finalizers run once, last
//	 ├─ Ensure: log.Update(event.Endings)    C1, C2: on every path
//	 ├─ OnInterrupt: note the cause
//	 ├─ Ensure: cancel the calls, wait interrupt_grace for all in parallel
//	 └─ work, until a response requests no tool:
//	     ├─ respond: attempt, retry within the budget, attempt, …
//	     │   └─ attempt: Stream ─► pump ─► select { chunk, watchdog, cancelled }
//	     │                                     └─ demux ─► log; call ready ─► call
//	     ├─ await the calls of the step
//	     └─ limits
//
// Read turn.go first: it has the frame of a turn and its configuration. steps.go has the loop,
// attempt.go one request, demux.go its chunks, call.go one tool call, calls.go all calls of a
// turn, watchdog.go the stall bounds, retry.go the retry budget, repeats.go the guard against
// repeated calls, completion.go the end of a turn, meter.go the sums of tokens and cost,
// failure.go errors as the log keeps them, compact.go and summary.go compaction and the request
// for its summary. hooks.go decides what the verdicts of hooks change, limits.go when a limit
// ends the turn.
//
// The timeouts of a stream come from internal/config (watchdog.go there), the classes of
// faults from package model; when to retry
// and how long to wait is decided here, in retry.go. The wait that a provider asks of all
// sessions with its key is in model.Limiter. Which calls may run is decided in
// internal/policy; this package only asks the Approver.
//
// The log is the only lasting state: every step is decided inside log.Update, from the state
// that the update sees. Goroutines beside the turn's own (the pump of a stream, a call, the
// tool of a call) can only resolve a Deferred or append through Update. Neither has an effect
// once the log has their ending.
//
// Other files:
//
//   - command.go: runs inputs that are commands of a person
//   - fallback.go: when the fallback model continues the turn
//   - form.go: forms that running calls request
//   - instructions.go: adds the project's instructions once, bounded
//   - join.go: which waiting deltas are appended at once
//   - observer.go: reports turns, attempts and calls to observers
//   - runes.go: text in complete characters
//   - search.go: web search by the turn's provider
//   - toolsearch.go: whether the provider or settle searches tools
//   - usage.go: which reported usage is plausible; counts without one
//
// Which calls count as repeats is decided here (repeats.go), not by the tools. Package transport
// decides that nothing listens at a local address (model/transport/endpoint.go); retry.go then
// chooses the shorter time for retries.
package turn
