package transport

import (
	"strconv"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/model"
)

// Count is a number of tokens as a provider reports it. Reading one never fails, since a wrong
// count must not cost the answer that it came with: a value that is not a whole number of tokens
// becomes [model.NoCount].
type Count int64

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(data []byte) error {
	if string(data) != "null" {
		*c = ReadCount(data)
	}
	return nil
}

// ReadCount reads a count from a JSON value. Some servers write whole numbers with a
// fraction or an exponent (12.0, 1e3).
func ReadCount(data []byte) Count {
	if n, err := strconv.ParseInt(string(data), 10, 64); err == nil && n >= 0 {
		return Count(n)
	}
	f, err := strconv.ParseFloat(string(data), 64)
	if n, ok := bound.Count(f, maxExact); ok && err == nil {
		return Count(n)
	}
	return model.NoCount
}

// maxExact is the highest float up to which every integer is one.
const maxExact = 1 << 53

// Total returns the sum of counts; model.NoCount if one of them is none.
func Total(counts ...Count) int64 {
	sum := Count(0)
	for _, n := range counts {
		if n < 0 {
			return model.NoCount
		}
		sum = bound.Add(sum, n)
	}
	return int64(sum)
}
