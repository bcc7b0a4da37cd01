// Package plan is the tool by which a model says what it means to do, and how
// far it is: a list of steps, each pending, in progress or completed. A call
// replaces the list.
//
// The tool keeps nothing. The plan of a session is what the last completed call
// in its log says, whoever reads it, and a turn's end leaves it as it was.
package plan
