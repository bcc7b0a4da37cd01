// Package history turns a log into a model request that every supported
// provider accepts (C6). It is pure: the same state gives the same request,
// to the byte, so that prompt caches stay warm.
//
// For each turn it walks the inputs, the items of each response, then the
// outputs of the response's calls:
//
//	user ─► (reasoning, text, call)* ─► output* ─► … ─► user
//
// What it leaves out: what a later attempt said anew, what was cut before it
// made sense (a call without its arguments, an unsigned thought), reasoning of
// another model, and what the provider has refused before. What it adds: the
// truth about what was aborted, and that something was left out.
//
// What a refusal is answered with is a [Remedy], and what it changes is an event
// (history.changed), which every later request heeds from there on:
//
//	too long          ─► window: less is sent ─► shortened
//	reason unknown    ─► left_out, part by part, on trial until a response comes
//	reason known      ─► without what was refused (ADR 7)
//	not the history's ─► nothing: the turn fails
//
// ledger.go, check.go and ledger_text.go make the digest: the facts from the log that a
// compaction keeps beside the summary (inputs, files with their state on disk, commands
// with exit codes, the plan, child agents, jobs, approvals, skills). No model is asked.
package history
