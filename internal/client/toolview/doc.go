// Package toolview says what a tool call is to a person or to another program:
// its kind, the command it runs, the files it names, and how it changes them.
//
//	name, arguments ─► Call ─► Changes ─► Hunks, Content
//	                              ▲
//	     detail of a result or an approval
//
// It reads arguments with the argument types of the tools themselves, so that
// no face can rely on an argument that a tool does not have. It knows no
// protocol: faces translate what they find here.
package toolview
