package proof

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/modeltest"
)

// readFault takes a fault:
//
//	KIND [at PLACE] [first N | always] [lasting D] [every D] [status N] [retry "S"] [bytes N]
func readFault(w *words) (f modeltest.Fault) {
	f.Kind = modeltest.FaultKind(w.word("the fault"))
	if w.err == nil && !slices.Contains(modeltest.FaultKinds(), f.Kind) {
		w.fail("there is no fault %q", f.Kind)
	}
	for !w.done() {
		switch option := w.word("an option"); option {
		case "at":
			f.At = readPlace(w)
		case "first":
			f.Times = w.positive("how many requests")
		case "always":
			f.Times = modeltest.Always
		case "lasting":
			f.For = modeltest.Duration(w.duration("the time"))
		case "every":
			f.Every = modeltest.Duration(w.duration("the time"))
		case "status":
			f.Status = w.number("the status")
		case "retry":
			f.RetryAfter = modeltest.RetryAfter(w.text())
		case "bytes":
			f.Bytes = int64(w.number("the length"))
		default:
			w.fail("a fault has no %q", option)
		}
	}
	switch {
	case f.Kind == modeltest.FaultStatus && (f.Status < 100 || f.Status > 599):
		w.fail("%d is no status", f.Status)
	case f.Kind == modeltest.FaultForeign || f.Kind == modeltest.FaultContentType:
		f.ContentType, f.Body = "text/html", "<html></html>"
	}
	return f
}

func readPlace(w *words) modeltest.At {
	switch place := w.word("the place"); place {
	case "request", "headers", "items", "end", "done":
		return modeltest.At(place)
	case "delta", "arguments", "call":
		return modeltest.At(fmt.Sprintf("%s %d", place, w.positive("the place")))
	default:
		w.fail("there is no place %q", place)
	}
	return ""
}

func faultText(f modeltest.Fault) string {
	out := []string{"fault", string(f.Kind)}
	add := func(given bool, words ...string) {
		if given {
			out = append(out, words...)
		}
	}
	add(f.At != "", "at", string(f.At))
	add(f.Times > 0, "first", strconv.Itoa(f.Times))
	add(f.Times == modeltest.Always, "always")
	add(f.For > 0, "lasting", text(f.For))
	add(f.Every > 0, "every", text(f.Every))
	add(f.Status != 0, "status", strconv.Itoa(f.Status))
	add(f.RetryAfter != "", "retry", strconv.Quote(string(f.RetryAfter)))
	add(f.Bytes != 0, "bytes", strconv.FormatInt(f.Bytes, 10))
	return strings.Join(out, " ")
}

func text(d modeltest.Duration) string {
	out, _ := d.MarshalText() // never fails
	return string(out)
}
