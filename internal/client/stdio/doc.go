// Package stdio is what the faces share that a program drives over its standard
// streams: what ends them, with which exit code, and how what they have to say
// gets out.
//
//	signals, a reader or parent that is gone ─► Stop ─► the face ends its turns
//	how the last turn ended, and the stops ─► Code, the exit code (C14)
package stdio
