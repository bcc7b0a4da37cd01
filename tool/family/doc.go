// Package family says settle's tools in the words of a family of models: under
// the names and with the arguments that these were trained on.
//
//	tool.Set ─► View.Specs ─► what the model is offered
//	a call of the model ─► View.Read ─► settle's name and arguments: log, policy, tools, faces
//	the log ─► Replay, Write ─► the same call in a later request
//
// The log has settle's words only, and beside them what the model said where
// that cannot be told from them, so that a request to the same model repeats
// it to the byte (C21), while another model finds the history in words of its own.
//
// A call under settle's own names, or those of another family, works as well.
// One that cannot be said in settle's words is refused with the reason.
package family
