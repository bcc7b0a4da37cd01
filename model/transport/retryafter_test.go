package transport

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	const none = time.Duration(-1)
	for _, tt := range []struct {
		ms, after, message string
		want               time.Duration
	}{
		{"", "", "", none},
		{"1500", "9", "try again in 7s", 1500 * time.Millisecond},
		{"0.5", "", "", 500 * time.Microsecond},
		{"", "20", "", 20 * time.Second},
		{"", " 1.5 ", "", 1500 * time.Millisecond},
		{"", date(90 * time.Second), "", 90 * time.Second},
		// No waits: zero, negative, past, unreadable.
		{"0", "0", "", none},
		{"-5", "-5", "", none},
		{"", date(-time.Hour), "", none},
		{"x", "soon", "", none},
		{"NaN", "NaN", "", none},
		{"-Inf", "-Inf", "", none},
		{"0.0000001", "", "", none},
		// The next source counts where one says nothing.
		{"x", "3", "", 3 * time.Second},
		{"", "-1", "Please try again in 2s.", 2 * time.Second},
		// Absurd.
		{"", "1e18", "", MaxRetryAfter},
		{"", "+Inf", "", MaxRetryAfter},
		{"1e400", "", "", MaxRetryAfter},
		{"", "99999999999999999999999999", "", MaxRetryAfter},
		{"", date(400 * 24 * time.Hour), "", MaxRetryAfter},
		// In words.
		{"", "", "Rate limit reached. Please try again in 1.5s. Visit …", 1500 * time.Millisecond},
		{"", "", "Please try again in 28ms.", 28 * time.Millisecond},
		{"", "", "Try again in 2m30s", 150 * time.Second},
		{"", "", "try again in 1h2m", 62 * time.Minute},
		{"", "", "try again in 1 hour and 5 minutes", 65 * time.Minute},
		{"", "", "Please retry after 26 seconds.", 26 * time.Second},
		{"", "", "Please retry in 34.074824224s.", 34074824224},
		{"", "", "Please retry after 20.", 20 * time.Second},
		{"", "", "Your limit resets in 2 days, 3 hours", 51 * time.Hour},
		{"", "", "try again in a moment; try again in 4s", 4 * time.Second},
		{"", "", "try again in 99999999999h", MaxRetryAfter},
		{"", "", "try again in -5s", none},
		{"", "", "try again in .", none},
		{"", "", "limit 30000, used 29000, try later", none},
	} {
		h := http.Header{}
		h.Set("Retry-After-Ms", tt.ms)
		h.Set("Retry-After", tt.after)
		if got := retryAfter(h, Detail{Message: tt.message}, func() time.Time { return now }); got != tt.want {
			t.Errorf("ms %q, after %q, message %q: %v, want %v", tt.ms, tt.after, tt.message, got, tt.want)
		}
	}
}

// A date determines the wait by the clock that wrote it, for any setting of this machine's clock.
func TestRetryAfterWhenTheClockIsWrong(t *testing.T) {
	theirs := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, wrong := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, -50 * 365 * 24 * time.Hour} {
		ours := func() time.Time { return theirs.Add(wrong) }
		h := http.Header{}
		h.Set("Date", theirs.Format(http.TimeFormat))
		h.Set("Retry-After", theirs.Add(90*time.Second).Format(http.TimeFormat))
		if got := retryAfter(h, Detail{}, ours); got != 90*time.Second {
			t.Errorf("wrong by %v: %v", wrong, got)
		}
		h.Set("Date", "the day before yesterday")
		if got, want := retryAfter(h, Detail{}, ours), 90*time.Second-wrong; wrong < 0 &&
			got != min(want, MaxRetryAfter) ||
			wrong > 0 && got != NoRetryAfter {
			t.Errorf("without their date, wrong by %v: %v", wrong, got)
		}
	}
}

func FuzzMessageWait(f *testing.F) {
	f.Add("try again in 1h2m3.5s")
	f.Add("retry after 9e9")
	f.Fuzz(func(t *testing.T, message string) {
		if got := messageWait(message); got != NoRetryAfter && (got <= 0 || got > MaxRetryAfter) {
			t.Errorf("%q: %v", message, got)
		}
	})
}

func TestEmbeddedRootsAreThere(t *testing.T) {
	if n := len(embeddedRoots().Subjects()); n < 100 { //nolint:staticcheck // not the system's pool
		t.Errorf("only %d root certificates", n)
	}
}

// BenchmarkEmbeddedRoots measures the parsing of the embedded root certificates, which machines
// without certificates need once.
func BenchmarkEmbeddedRoots(b *testing.B) {
	for b.Loop() {
		embeddedRoots()
	}
}

func BenchmarkNewClient(b *testing.B) {
	for b.Loop() {
		NewClient(Config{})
	}
}
