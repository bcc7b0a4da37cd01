// Package codex says what Codex's flags, configuration and words for permissions
// come to in settle, so that they mean the same in both interfaces for programs
// that were written for Codex.
//
//	flags, -c key=value ─► Understand ─► Spec: settings of settle's, an environment
//	sandbox mode, approval policy ─► Mode: what may run
package codex
