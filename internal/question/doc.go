// Package question formats a request for approval for a person: the complete call, or nothing.
//
//	arguments, the judge's details ─► Text ─► every frontend shows it unchanged
//	                                   └► TooLongError: the call is refused
//
// Read question.go first; form.go has the forms of MCP servers,
// ask.go the questions of the model, visible.go the characters.
// Characters that hide or reorder text on a screen are spelled out. Text of the model is
// indented, so that it cannot imitate settle's text.
package question
