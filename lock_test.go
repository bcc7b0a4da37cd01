package settle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/journal"
)

// A program that restarts does not fail because its earlier process still ends, unless that
// process stays.
func TestRetryWhileLocked(t *testing.T) {
	other := errors.New("no such session")
	for name, tt := range map[string]struct {
		fails   []error // then it opens
		want    error
		timeout time.Duration
		tries   int
	}{
		"lets go":                  {[]error{&journal.HeldError{}, &journal.HeldError{}}, nil, time.Second, 3},
		"is stopped":               {[]error{&journal.HeldError{Stopped: true}}, new(journal.HeldError), time.Second, 1},
		"stays longer":             {[]error{&journal.HeldError{}, &journal.HeldError{}, &journal.HeldError{}}, new(journal.HeldError), lockDelay, 3},
		"cannot be opened anyway":  {[]error{other}, other, time.Second, 1},
		"a signal comes meanwhile": {[]error{&journal.HeldError{}, context.Canceled}, context.Canceled, time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := retryWhileLocked(t.Context(), tt.timeout, func() error {
					tries++
					if tries <= len(tt.fails) {
						return tt.fails[tries-1]
					}
					return nil
				})
				var held *journal.HeldError
				if errors.As(tt.want, &held) != errors.As(err, &held) || held == nil && !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if tries != tt.tries {
					t.Errorf("%d tries, want %d", tries, tt.tries)
				}
			})
		})
	}
}

func TestTheWaitForALockEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	err := retryWhileLocked(ctx, time.Hour, func() error {
		cancel(cause)
		return &journal.HeldError{}
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}
