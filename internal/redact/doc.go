// Package redact keeps secrets from leaving (C15).
//
// A [Redactor] knows the exact values of the secrets that settle has read and
// replaces them by [Mask] in whole texts and, through a [Stream], in text that
// arrives in pieces, however it is cut. It is on the path of every delta: text
// without anything in question comes back as the same string.
//
// [Diagnostic] goes further and masks what merely looks like a secret. It is
// for URLs, headers, provider bodies, errors, logs and stderr only; in tool
// text, edits or history it would corrupt work.
//
//	Add ─► forms (plain, JSON, URL, base64) ─► matcher (immutable, swapped whole)
package redact
