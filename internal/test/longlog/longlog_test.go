package longlog_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/test/longlog"
)

func TestEventsKeepTheContract(t *testing.T) {
	const n = 2_000
	var all []event.Event
	size := 0
	for e := range longlog.Events("s", n, longlog.Few) {
		raw, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		size += len(raw)
		all = append(all, e)
	}
	if err := (contract.Checker{}).Check(all); err != nil {
		t.Error(err)
	}
	if each := size / len(all); len(all) < n || each < 600 || each > 760 {
		t.Errorf("%d events have %d bytes each, want at least %d of about 680", len(all), each, n)
	}
}
