// Package tool is what a model can do: [Tool], and the [Set] of them that a
// turn offers. Each family of tools is a folder of its own.
//
// A tool runs at most once a call (C5). It ends when its context is cancelled
// and says with [context.Cause] why; what it had put out by then is kept. A
// tool never writes to the log: it returns a [Result], and the turn decides
// whether that is still the call's ending.
package tool
