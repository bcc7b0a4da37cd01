package proof

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/settletest"
)

// readFault takes a fault:
//
//	KIND [at PLACE] [first N | always] [lasting D] [every D] [status N] [retry "S"] [bytes N]
func readFault(w *words) (f settletest.Fault) {
	f.Kind = settletest.FaultKind(w.word("the fault"))
	if w.err == nil && !slices.Contains(settletest.FaultKinds(), f.Kind) {
		w.fail("there is no fault %q", f.Kind)
	}
	for !w.done() {
		switch option := w.word("an option"); option {
		case "at":
			f.At = readPlace(w)
		case "first":
			f.Times = w.positive("how many requests")
		case "always":
			f.Times = settletest.Always
		case "lasting":
			f.For = settletest.Duration(w.duration("the time"))
		case "every":
			f.Every = settletest.Duration(w.duration("the time"))
		case "status":
			f.Status = w.number("the status")
		case "retry":
			f.RetryAfter = settletest.RetryAfter(w.text())
		case "bytes":
			f.Bytes = int64(w.number("the length"))
		default:
			w.fail("a fault has no %q", option)
		}
	}
	switch {
	case f.Kind == settletest.FaultStatus && (f.Status < 100 || f.Status > 599):
		w.fail("%d is no status", f.Status)
	case f.Kind == settletest.FaultForeign || f.Kind == settletest.FaultContentType:
		f.ContentType, f.Body = "text/html", "<html></html>"
	}
	return f
}

func readPlace(w *words) settletest.At {
	switch place := w.word("the place"); place {
	case "request", "headers", "items", "end", "done":
		return settletest.At(place)
	case "delta", "arguments", "call":
		return settletest.At(fmt.Sprintf("%s %d", place, w.positive("the place")))
	default:
		w.fail("there is no place %q", place)
	}
	return ""
}

func faultText(f settletest.Fault) string {
	out := []string{"fault", string(f.Kind)}
	add := func(given bool, words ...string) {
		if given {
			out = append(out, words...)
		}
	}
	add(f.At != "", "at", string(f.At))
	add(f.Times > 0, "first", strconv.Itoa(f.Times))
	add(f.Times == settletest.Always, "always")
	add(f.For > 0, "lasting", text(f.For))
	add(f.Every > 0, "every", text(f.Every))
	add(f.Status != 0, "status", strconv.Itoa(f.Status))
	add(f.RetryAfter != "", "retry", strconv.Quote(string(f.RetryAfter)))
	add(f.Bytes != 0, "bytes", strconv.FormatInt(f.Bytes, 10))
	return strings.Join(out, " ")
}

func text(d settletest.Duration) string {
	out, _ := d.MarshalText() // never fails
	return string(out)
}
