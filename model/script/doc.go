// Package script is a model that follows a script: the demo, tests and
// examples use it where a real model would need a key and a network.
//
// A script is a list of steps, one for each request, in order. A step is a
// [Turn] of smaller steps, or a single one, which is then a turn by itself:
//
//	script.New(
//		script.Turn(script.Reasoning("Let me look."), script.Call("shell", `{"command":"ls"}`)),
//		script.Fail(model.NewError(model.ErrOverloaded, "overloaded")),
//		script.Text("There is one file."),
//	)
//
// It is deterministic: ids are counted, waiting is time.After beside the
// context, so virtual time works. The request that comes after the script's
// last step fails, unless [Model.Otherwise] says what to answer.
package script
