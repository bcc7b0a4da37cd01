// Package tool defines a model's tools: [Tool], and the [Set] of tools that a turn offers.
// Each family of tools has a folder of its own. [New] makes a tool from a function; the
// built-in tools use it.
//
// A call runs a tool at most once (C5). A tool ends when its context is cancelled, for the
// reason in [context.Cause], and its output so far is kept. A tool never writes to the log:
// it returns a [Result], and the turn decides whether that is still the call's ending.
//
// Read tool.go first, then new.go. set.go runs calls, args.go and validate.go check their
// arguments. Package policy decides which calls run; package tool/family decides which
// tools and names a model receives.
//
// Other files:
//
//   - hurry.go: a second interrupt, as tools see it
//   - panic.go: panics of tools as failures
//   - searcher.go: the web search that a tool uses
package tool
