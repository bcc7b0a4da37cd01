package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/journal"
)

// Who ended a process and starts another is not told that the first one is
// there, unless it stays.
func TestPatiently(t *testing.T) {
	other := errors.New("no such session")
	for name, tt := range map[string]struct {
		fails    []error // then it opens
		want     error
		patience time.Duration
		tries    int
	}{
		"lets go":                  {[]error{&journal.HeldError{}, &journal.HeldError{}}, nil, time.Second, 3},
		"is stopped":               {[]error{&journal.HeldError{Stopped: true}}, new(journal.HeldError), time.Second, 1},
		"stays longer":             {[]error{&journal.HeldError{}, &journal.HeldError{}, &journal.HeldError{}}, new(journal.HeldError), heldDelay, 3},
		"cannot be opened anyway":  {[]error{other}, other, time.Second, 1},
		"a signal comes meanwhile": {[]error{&journal.HeldError{}, context.Canceled}, context.Canceled, time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				got, err := Patiently(t.Context(), tt.patience, func() (int, error) {
					tries++
					if tries <= len(tt.fails) {
						return 0, tt.fails[tries-1]
					}
					return tries, nil
				})
				var held *journal.HeldError
				if errors.As(tt.want, &held) != errors.As(err, &held) || held == nil && !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if tries != tt.tries || err == nil && got != tries {
					t.Errorf("%d tries, want %d; opened %d", tries, tt.tries, got)
				}
			})
		})
	}
}

func TestPatienceEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	_, err := Patiently(ctx, time.Hour, func() (int, error) {
		cancel(cause)
		return 0, &journal.HeldError{}
	})
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}
