package scope

import (
	"errors"
	"log/slog"
)

// Shield returns f with a boundary at which panics stop: report receives a panic of f
// as a [*PanicError]. Every goroutine and every callback that runs code of a tool, a
// server, a hook, a provider, an observer or a frontend begins with a Shield or a
// [Guard], since a panic that leaves a goroutine ends the host with all its sessions.
// report ends what f worked on: the call, the attempt or the connection.
func Shield(report func(error), f func()) func() {
	return func() {
		if err := Guard(func() error { f(); return nil }); err != nil {
			report(err)
		}
	}
}

// Log returns a report for [Shield] that writes a panic with its stack into the diagnostic log,
// under the message what and through mask (C15). A nil logger or mask is allowed.
func Log(l *slog.Logger, mask func(string) string, what string, args ...any) func(error) {
	return func(err error) { LogPanic(l, mask, what, err, args...) }
}

// LogPanic writes an error of [Guard] into the diagnostic log under the message what, with its
// stack if it is a panic.
func LogPanic(l *slog.Logger, mask func(string) string, what string, err error, args ...any) {
	if l == nil {
		return
	}
	if mask == nil {
		mask = func(text string) string { return text }
	}
	args = append(args, "error", mask(err.Error()))
	if panicked, ok := errors.AsType[*PanicError](err); ok {
		args = append(args, "stack", mask(string(panicked.Stack)))
	}
	l.Error(what, args...)
}
