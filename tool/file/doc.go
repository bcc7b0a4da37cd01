// Package file has the tools that read and change files: read, write, edit and apply_patch.
// They share a [Workspace], one for each session.
//
// A file always has either its old or its new content: a tool writes a temporary file
// beside it, syncs it, and renames it over the old one. A crash can leave a temporary file,
// named .settle-*.tmp.
//
//	locate ─► lock ─► load ─► check ─► stage … stage ─► commit … commit
//	                            └─ refused          └─ discard
//
// locate uses the place that the call was judged by (package internal/disk). All later
// steps use the descriptor of its directory and follow no link.
//
// Checks before a write: for write, the model must know the content that it replaces (by
// hash); for edit and apply_patch, the named lines must exist. A file that changed after it
// was loaded is not replaced.
//
// Mode, owner (if permitted), link target, line endings and a missing newline at the end
// are kept. Extended attributes and other hard links are not.
//
// Read workspace.go first, then edit.go. patch_parse.go reads a patch, plan.go and
// patch_apply.go apply it; atomic.go replaces files; closest.go explains a failed match;
// restore.go undoes a change. Package policy decides whether a call runs.
//
// Other files:
//
//   - args.go: arguments of the tools
//   - read.go: the tool read, its limits, and what it suggests for a missing file
//   - view.go: the part of a file that read shows
//   - notebook.go: Jupyter notebooks as cells
//   - notebook_edit.go: replaces a text in the cells of a notebook
//   - document.go: PDFs as text by page
//   - media.go: images and binary files
//   - write.go: the tool write
//   - snapshot.go: a file's content as loaded, changes since then
//   - match.go: where an edit's old text occurs
//   - lines.go: line endings and the byte order mark
//   - diff.go: differences between two texts
//   - detail.go: details of results: changes and versions
//   - preview.go: what a call would change, for approvals
//   - past.go: earlier versions, kept to go back
//   - editor.go: unsaved text of the client's editor
//   - lock.go: one call at a time for each path
//   - mask.go: refuses to write a masked secret
//   - patch.go: the tool apply_patch: its grammar, schema and title
package file
