package tool

import (
	"context"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of a tool: a defect, reported as the call's failure.
type PanicError struct {
	Tool  string
	Value any
	// Stack is the goroutine's stack in the form of [debug.Stack].
	Stack string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the tool %q has a defect: panic: %s", e.Tool, clip(fmt.Sprint(e.Value)))
}

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// run calls the tool and converts a panic to an error.
func run(ctx context.Context, t Tool, call Call) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Tool: call.Name, Value: v, Stack: string(debug.Stack())}
		}
	}()
	return t.Run(ctx, call)
}
