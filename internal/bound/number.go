package bound

import "math"

// Integer is a signed integer of any size.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// Add returns a + b, or the nearest value of the type if the sum overflows.
func Add[T Integer](a, b T) T {
	sum := a + b
	switch {
	case b > 0 && sum < a:
		return highest[T]()
	case b < 0 && sum > a:
		return lowest[T]()
	}
	return sum
}

// Count converts a float to a count between 0 and limit. ok reports whether it is such a whole
// number.
func Count(n float64, limit int64) (count int64, ok bool) {
	if math.IsNaN(n) || n < 0 || n != math.Trunc(n) || n > float64(limit) || n >= math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}

func highest[T Integer]() T {
	n := T(1)
	for n<<1 > n {
		n = n<<1 | 1
	}
	return n
}

func lowest[T Integer]() T { return -highest[T]() - 1 }
