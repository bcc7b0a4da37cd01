// Package plan is the tool with which a model shows its plan and its progress: a list of
// steps, each pending, in progress or completed. A call replaces the list.
//
// The tool has no state. The plan of a session is the plan of the last completed call in
// its log, for every reader, also after the turn's end.
package plan
