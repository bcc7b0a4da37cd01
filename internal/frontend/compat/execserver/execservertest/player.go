package execservertest

import (
	"context"
	"fmt"
	"testing"
)

// player is a testing.TB outside of a test: a failure ends the process.
type player struct{ testing.TB }

func (*player) Helper() {}

func (*player) Context() context.Context { return context.Background() }

func (*player) Cleanup(func()) {}

func (*player) Fatal(args ...any) { (*player)(nil).end(fmt.Sprintln(args...)) }

func (*player) Fatalf(format string, args ...any) { (*player)(nil).end(fmt.Sprintf(format, args...)) }

func (*player) end(text string) {
	panic(text)
}
