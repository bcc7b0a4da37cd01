package model

import (
	"math"

	"github.com/settle-agent/settle/event"
)

// Price is a provider's price for a model, in US dollars per million tokens.
type Price struct {
	Input      float64
	CacheRead  float64
	CacheWrite float64
	Output     float64
	// LongAbove is a number of input tokens. If a request has more, its input costs LongInput times
	// as much, and its output LongOutput times as much. 0 means never.
	LongAbove             int64
	LongInput, LongOutput float64
}

// Cost returns the cost of a response with the usage, in US dollars, rounded to a billionth.
func (p Price) Cost(u event.Usage) float64 {
	fresh := max(u.Input-u.CacheRead-u.CacheWrite, 0)
	in := float64(fresh)*p.Input + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	out := float64(u.Output) * p.Output
	if p.LongAbove > 0 && u.Input > p.LongAbove {
		in, out = in*p.LongInput, out*p.LongOutput
	}
	return math.Round((in+out)*1e3) / 1e9
}
