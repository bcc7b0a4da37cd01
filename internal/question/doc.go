// Package question writes down what a person is asked about a call: all of it,
// or nothing.
//
//	arguments, what the judge says ─► Text ─► every way in shows it as it is
//	                                   └► TooLongError: the call is refused
//
// What hides or reorders text on a screen is spelled out, and text of the
// model's is indented, so that it cannot pass for ours.
package question
