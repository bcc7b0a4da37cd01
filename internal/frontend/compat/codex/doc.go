// Package codex translates Codex's flags, configuration and words for permissions to settle's, so
// that they have the same meaning in both interfaces for programs that were written for Codex.
//
//	flags, -c key=value ─► Understand ─► Spec: settings of settle's, an environment
//	sandbox mode, approval policy ─► Mode: what may run
//
// Files:
//
//   - spec.go: what Codex's flags and model mean here
//   - mode.go: sandbox modes and approval policies
//   - rights.go: rights in the app-server's words
//   - overrides.go: values of -c key=value
package codex
