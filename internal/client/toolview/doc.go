// Package toolview describes a tool call to a person or to another program: its kind, the
// command it runs, the files it names, and its changes to them. Start with call.go.
//
//	name, arguments ─► Call ─► Changes ─► Hunks, Content
//	                              ▲
//	     detail of a result or an approval
//
// It reads arguments with the argument types of the tools themselves, so that no frontend
// can rely on an argument that a tool does not have. It knows no protocol: frontends
// translate its results.
//
// Other files:
//
//   - change.go: changes to files, from arguments, approvals or results
//   - source.go: pages that a web search found
package toolview
