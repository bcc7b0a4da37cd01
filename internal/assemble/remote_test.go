package assemble

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/executor"
)

// TestSharedExecutorIsRetriedWithDelay: only a shared executor is retried with a delay.
func TestSharedExecutorIsRetriedWithDelay(t *testing.T) {
	away := errors.New("no executor answered")
	lost := &executor.LostError{Why: "the stream was cut"}
	refused := &executor.RefusedError{Message: "another process works on this session"}
	for name, c := range map[string]struct {
		remote  remoteTools
		fails   int // number of failures with err
		err     error
		want    error
		maxTime time.Duration // upper bound
	}{
		"reached":                {fails: 0},
		"cut, and reached again": {fails: 3, err: lost},
		"cut each time":          {fails: 4, err: lost, want: lost},
		"away":                   {fails: 1, err: away, want: away},
		"shared, back in time": {
			remote: remoteTools{shared: &SharedExecutor{}}, fails: 20, err: away,
			maxTime: 25 * time.Second,
		},
		"shared, away for ever": {
			remote: remoteTools{shared: &SharedExecutor{}}, fails: 1e6, err: away, want: away,
			maxTime: reachTimeout,
		},
		"shared, a long lease": {
			remote: remoteTools{shared: &SharedExecutor{}, lease: time.Minute}, fails: 1e6,
			err: away, want: away, maxTime: time.Minute,
		},
		"shared, a short lease": {
			remote: remoteTools{shared: &SharedExecutor{}, lease: time.Second}, fails: 1e6,
			err: away, want: away, maxTime: reachTimeout,
		},
		"shared, refused": {
			remote: remoteTools{shared: &SharedExecutor{}}, fails: 1e6, err: refused,
			want: refused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, tries := time.Now(), 0
				err := c.remote.retry(t.Context(), func(ctx context.Context) error {
					if tries++; tries <= c.fails {
						return c.err
					}
					return ctx.Err()
				}, func(err error) bool { return errors.As(err, new(*executor.LostError)) })
				if !errors.Is(err, c.want) {
					t.Errorf("%v, not %v", err, c.want)
				}
				if took := time.Since(began); took > c.maxTime || c.fails == 1e6 && c.maxTime > 0 &&
					took < c.maxTime-maxReachDelay {
					t.Errorf("it took %v, not %v", took, c.maxTime)
				}
			})
		})
	}
}
