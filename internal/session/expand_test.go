package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/test/pdftest"
	"github.com/settle-agent/settle/run"
)

// hangs is an expansion that does not end by itself.
func hangs(ctx context.Context, _ string) (string, []event.Image, error) {
	<-ctx.Done()
	return "", nil, errors.New("the server was told to cancel it")
}

// expanding submits an input that is expanded, beside the test.
func (b *bench) expanding(id string, expand func(context.Context, string) (string, []event.Image, error)) <-chan error {
	ended := make(chan error, 1)
	go func() { // ends with the expansion, which the test ends
		_, err := b.Submit(context.Background(), run.Input{ID: id, Text: "/a", By: "user", Expand: expand})
		ended <- err
	}()
	synctest.Wait()
	return ended
}

// wantCause checks that an input was withdrawn.
func wantCause(t *testing.T, ended <-chan error, want event.Reason) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ended:
		if cause := (*event.Cause)(nil); !errors.As(err, &cause) || cause.Reason != want {
			t.Errorf("%v, want a cause with %q", err, want)
		}
	default:
		t.Error("it is still expanded")
	}
}

// The log has the expanded text.
func TestAnInputIsAcceptedWhenItIsExpanded(t *testing.T) {
	bubble(t, "beside a turn", func(t *testing.T) {
		b := fresh(t, slow("1", "2"))
		b.send("first", "a", "")
		ended := b.expanding("second", func(ctx context.Context, text string) (string, []event.Image, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return strings.ToUpper(text), nil, nil
		})
		time.Sleep(30 * time.Second)
		b.want([]string{"a: completed"})
		if idle, err := b.CloseIdle(t.Context(), time.Now()); idle || err != nil {
			t.Errorf("it was closed for idleness: %v", err)
		}
		time.Sleep(time.Minute)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.want([]string{"a: completed", "/A: completed"})
		again := b.expanding("second", func(context.Context, string) (string, []event.Image, error) {
			t.Error("it was expanded twice")
			return "x", nil, nil
		})
		if err := <-again; err != nil {
			t.Error(err)
		}
	})
	bubble(t, "it fails", func(t *testing.T) {
		b := fresh(t, slow("1"))
		want := errors.New("there is no such thing")
		if err := <-b.expanding("", func(context.Context, string) (string, []event.Image, error) { return "", nil, want }); !errors.Is(
			err,
			want,
		) {
			t.Error(err)
		}
		if err := <-b.expanding("", func(context.Context, string) (string, []event.Image, error) { return " ", nil, nil }); !errors.Is(
			err,
			session.ErrEmpty,
		) {
			t.Error(err)
		}
		if idle, err := b.CloseIdle(t.Context(), time.Now().Add(time.Hour)); !idle || err != nil {
			t.Errorf("nothing is expanded any more: %v, %v", idle, err)
		}
	})
}

// C10, C19: an input that was not accepted is in no log, and its sender receives the cause.
func TestAnInterruptWithdrawsAnInputThatIsExpanded(t *testing.T) {
	bubble(t, "it names the input", func(t *testing.T) {
		b := fresh(t, slow("1"))
		other, ended := b.expanding("b", hangs), b.expanding("a", hangs)
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "a"}); err != nil || o.Cause != nil {
			t.Errorf("%+v, %v", o, err)
		}
		wantCause(t, ended, event.Interrupted)
		if len(other) > 0 {
			t.Error("another one was interrupted")
		}
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil || o.Cause != nil {
			t.Errorf("%+v, %v", o, err)
		}
		wantCause(t, other, event.Interrupted)
		b.want(nil)
	})
	bubble(t, "it comes before the input", func(t *testing.T) {
		b := fresh(t, slow("1"))
		done := make(chan error, 1)
		go func() { // ends with the interrupt
			_, err := b.Interrupt(context.Background(), session.Request{By: "user", Input: "a"})
			done <- err
		}()
		synctest.Wait()
		wantCause(t, b.expanding("a", hangs), event.Interrupted)
		if err := <-done; err != nil {
			t.Error(err)
		}
		b.want(nil)
	})
	bubble(t, "it ends a turn, too", func(t *testing.T) {
		b := fresh(t, slow("1"))
		b.send("first", "a", "")
		time.Sleep(time.Second)
		ended := b.expanding("", hangs)
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil || o.Turn != "t000001" {
			t.Errorf("%+v, %v", o, err)
		}
		wantCause(t, ended, event.Interrupted)
		b.want([]string{"a: aborted interrupted"})
	})
	bubble(t, "the session is closed", func(t *testing.T) {
		b := fresh(t, slow("1"))
		ended := b.expanding("", hangs)
		if err := b.Close(t.Context(), event.Shutdown, "host"); err != nil {
			t.Error(err)
		}
		wantCause(t, ended, event.Shutdown)
	})
	bubble(t, "the caller is gone", func(t *testing.T) {
		b := fresh(t, slow("1"))
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if _, err := b.Submit(ctx, run.Input{Text: "/a", Expand: hangs}); !errors.Is(err, gone) {
			t.Error(err)
		}
		b.want(nil)
	})
}

// C10, C19: an interrupt withdraws an input whose documents are being read.
func TestInterruptWithdrawsInputWithDocument(t *testing.T) {
	expanded := make(chan struct{})
	upper := func(_ context.Context, text string) (string, []event.Image, error) {
		close(expanded)
		return strings.ToUpper(text), nil, nil
	}
	for name, expand := range map[string]func(context.Context, string) (string, []event.Image, error){
		"as it is": nil, "expanded": upper,
	} {
		t.Run(name, func(t *testing.T) {
			b := fresh(t, slow("1"))
			ended := make(chan error, 1)
			go func() { // ends with the interrupt
				_, err := b.Submit(context.Background(), run.Input{
					ID: "a", Text: "a", By: "user", Expand: expand, Documents: []event.Document{{Data: pdftest.Slow()}},
				})
				ended <- err
			}()
			if expand != nil {
				<-expanded
			}
			o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "a"})
			if err != nil || o.Turn != "" {
				t.Errorf("%+v, %v", o, err)
			}
			cause := (*event.Cause)(nil)
			if err := <-ended; !errors.As(err, &cause) || cause.Reason != event.Interrupted {
				t.Errorf("%v", err)
			}
			b.want(nil)
		})
	}
}

// C10, C19: the end of the second submission does not affect the first one, which runs.
func TestAnInputThatIsSentTwiceIsAcceptedOnce(t *testing.T) {
	at := func(after time.Duration, err error) func(context.Context, string) (string, []event.Image, error) {
		return func(ctx context.Context, text string) (string, []event.Image, error) {
			select {
			case <-time.After(after):
				return strings.ToUpper(text), nil, err
			case <-ctx.Done():
				return "", nil, ctx.Err()
			}
		}
	}
	bubble(t, "an interrupt ends its turn", func(t *testing.T) {
		b := fresh(t, slow("1"))
		first, second := b.expanding("a", at(time.Second, nil)), b.expanding("a", hangs)
		time.Sleep(2 * time.Second)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "a"}); err != nil ||
			o.Turn != "t000001" {
			t.Errorf("%+v, %v", o, err)
		}
		if err := <-second; err != nil { // it was accepted, as the first
			t.Error(err)
		}
		b.want([]string{"/A: aborted interrupted"})
	})
	bubble(t, "the second one fails", func(t *testing.T) {
		b := fresh(t, slow("1"))
		first, second := b.expanding(
			"a",
			at(time.Second, nil),
		), b.expanding(
			"a",
			at(2*time.Second, errors.New("it is out of order")),
		)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"/A: completed"})
	})
	bubble(t, "with a document, the first while the second is expanded", func(t *testing.T) {
		b := fresh(t, slow("1"))
		r, err := b.Submit(t.Context(), run.Input{
			ID: "a", Text: "a", By: "user",
			Documents: []event.Document{{Data: pdftest.New("x"), Pages: 1, Text: "x"}},
			Expand: func(_ context.Context, text string) (string, []event.Image, error) {
				b.send("a", "first", "")
				return text, nil, nil
			},
		})
		if err != nil || !r.Duplicate {
			t.Errorf("%+v, %v", r, err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"first: completed"})
		if idle, err := b.CloseIdle(t.Context(), time.Now()); !idle || err != nil {
			t.Errorf("nothing is expanded any more: %v, %v", idle, err)
		}
	})
	bubble(t, "both succeed", func(t *testing.T) {
		b := fresh(t, slow("1"))
		first, second := b.expanding("a", at(time.Second, nil)), b.expanding("a", at(time.Second, nil))
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"/A: completed"})
	})
}

// The session continues and is idle.
func TestAPanicOfAnExpansionIsItsFailure(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := fresh(t, slow("1"))
		if _, err := b.Submit(t.Context(), run.Input{Text: "/a", Expand: func(context.Context, string) (string, []event.Image, error) { panic("no such page") }}); err == nil ||
			!strings.Contains(err.Error(), "no such page") {
			t.Error(err)
		}
		if idle, err := b.CloseIdle(t.Context(), time.Now().Add(time.Hour)); !idle || err != nil {
			t.Errorf("nothing is expanded any more: %v, %v", idle, err)
		}
	})
}
