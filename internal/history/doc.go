// Package history turns a log into a model request that every supported provider accepts
// (C6). It is pure: the same state gives the same request, to the byte, so that prompt
// caches stay valid. Read walk.go first: for each turn it adds the inputs, the items of
// each response, and then the outputs of the response's calls:
//
//	user ─► (reasoning, text, call)* ─► output* ─► … ─► user
//
// It leaves out items that a later attempt repeated, incomplete items (a call without its
// arguments, reasoning without a signature), reasoning of another model, and the parts that
// the provider has refused (refused.go). It adds notes about aborted calls and about
// omitted parts (text.go). conversation.go extends the previous request.
//
// A [Remedy] reacts to a refusal. Its change is an event (history.changed), which every
// later request applies:
//
//	too long          ─► window.go: a smaller window ─► shorten.go
//	reason unknown    ─► degrade.go: parts left out, step by step, on trial (trial.go)
//	reason known      ─► without the refused part (ADR 7)
//	other reasons     ─► none: the turn fails
//
// compact.go plans a compaction. The digest is the part that a compaction keeps beside the
// model's summary: inputs, files and their state on disk, commands with exit codes, the
// plan, child agents, jobs, approvals, skills, PDFs. digest.go reads it from the log,
// digest_check.go compares its files with the disk, and digest_text.go writes it; no model
// is asked. Whether and when to compact is decided in internal/turn.
//
// Other files:
//
//   - request.go: builds the request
//   - response.go: items of a response and outputs of calls
//   - document.go: PDFs, or their text
//   - room.go: the length of the request, the room for an answer, the share of each output
//   - digest_loaded.go: instructions and skills that the digest repeats
//   - digest_documents.go: names and texts of PDFs that the digest repeats
//   - toolsearch.go: whether the provider searches deferred tools
//
// The order in which parts are left out of a request that is too long is decided in shorten.go.
// degrade.go decides what is left out of a request that the provider refused.
package history
