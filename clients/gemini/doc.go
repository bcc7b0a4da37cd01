// Package gemini holds settle's Gemini requests and streams against Google's own SDK for
// Go. It is a module of its own, so that the SDK's dependencies are not settle's.
package gemini
