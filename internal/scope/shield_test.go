package scope

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestShieldReportsAPanicWithItsStack(t *testing.T) {
	var log bytes.Buffer
	mask := func(text string) string { return strings.ReplaceAll(text, "secret", "***") }
	logger := slog.New(slog.NewTextHandler(&log, nil))
	Shield(Log(logger, mask, "a test panicked", "turn", "t1"), func() { panic("the secret") })()
	for _, want := range []string{"a test panicked", "turn=t1", "panic: the ***", "shield_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("C15: %s", log.String())
	}
	Shield(func(err error) { t.Error(err) }, func() {})()
	Shield(Log(nil, nil, "nobody is told"), func() { panic(errors.New("x")) })()
}
