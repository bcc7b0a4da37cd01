// Package file is the tools that read and change files: read, write, edit and
// apply_patch. They share a [Workspace], one for each session.
//
// A source file is wholly old or wholly new at any instant: what is written
// goes to a temporary file beside it, is synced, and takes the old one's place
// by a rename. A crash may leave a temporary file, named .settle-*.tmp.
//
//	locate ─► lock ─► load ─► check ─► stage … stage ─► commit … commit
//	                            └─ refused          └─ discard
//
// locate takes the place that the call was judged by (package internal/disk). All later
// steps go through the descriptor of its directory and follow no link.
//
// What is checked before anything is written: for write, that the model knows
// what it replaces (by hash); for edit and apply_patch, that the lines they
// name are there. A file that changed since it was loaded is not replaced.
//
// Mode, owner (where permitted), link target and line endings are kept; a
// missing newline at the end stays missing. Extended attributes and further
// hard links are not.
package file
