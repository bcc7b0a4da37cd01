// Package family presents settle's tools with the names and arguments that a family of
// models was trained on.
//
//	tool.Set ─► View.Specs ─► the tools that the model receives
//	a call of the model ─► View.Read ─► settle's name and arguments: log, policy, tools, frontends
//	the log ─► Replay, Write ─► the same call in a later request
//
// The log has settle's names and arguments, and also the model's own form if it cannot be
// derived: a request to the same model repeats it byte for byte (C21), while another model
// reads the history in its own form.
//
// A call under settle's own names, or the names of another family, also works. A call
// without an equivalent in settle's form is refused with the reason.
//
// Read view.go first. family.go lists the families; claude.go and gpt.go have their forms
// (form.go); members.go edits JSON without reformatting it; shared.go keeps the schemas of all turns.
package family
