// Package codex says what Codex's words for permissions come to in settle. Two
// interfaces for programs that were written for Codex use it, so that the same
// words mean the same in both.
package codex
