// Package redact keeps secrets inside settle (C15).
//
// A [Redactor] knows the exact values of the secrets that settle has read and replaces them
// by [Mask] in whole texts and, through a [Stream], in text that arrives in pieces of any
// size. Every delta passes it: a text without any part of a secret comes back as the same
// string.
//
// [Diagnostic] also masks text that only looks like a secret. It is for URLs, headers,
// provider bodies, errors, logs and stderr; in tool text, edits or history its masks would
// corrupt work.
//
//	Add ─► forms (plain, JSON, URL, base64) ─► matcher (immutable, swapped as a whole)
//
// Read redact.go first, then matcher.go, which finds the values.
//
// Other files:
//
//   - forms.go: encodings in which a secret can appear
//   - stream.go: masks text that arrives in pieces
//   - diagnostic.go: what looks like a secret
package redact
