package bound

import (
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// FuzzBudget takes text of any lengths from budgets of any size: the rest is never negative, never
// grows, and the taken length is never more than the rest before.
func FuzzBudget(f *testing.F) {
	f.Add(262144, "é", 200, 1400)
	f.Add(-1, "a", 3, 3)
	f.Add(0, "", 0, 1)
	f.Add(math.MaxInt, "日", 9, 9)
	f.Fuzz(func(t *testing.T, size int, piece string, times, calls int) {
		text := strings.Repeat(piece, min(max(times, 0), 1+4096/max(len(piece), 1)))
		b := NewBudget(size)
		out := 0
		for n := range min(max(calls, 0), 2000) {
			before, got := b.Left(), 0
			switch n % 5 {
			case 0, 1:
				s := b.Text(text)
				if !strings.HasPrefix(text, s) || utf8.ValidString(text) && !utf8.ValidString(s) {
					t.Fatalf("Text(%q) = %q", text, s)
				}
				if got = len(s); got < len(text) && b.Left() != 0 {
					t.Fatal("text was cut, and more can follow it")
				}
			case 2:
				got = len(b.Bytes([]byte(text)))
			case 3:
				got = b.Take(times)
			case 4:
				if b.Fits(times) {
					got = times
				}
			}
			if out += got; got < 0 || b.Left() < 0 || b.Left() > before-got {
				t.Fatalf("%d bytes left, %d were taken of %d", b.Left(), got, before)
			}
		}
		if out > max(size, 0) {
			t.Fatalf("%d bytes came out of a budget of %d", out, size)
		}
	})
}

// FuzzCut cuts any text at any place.
func FuzzCut(f *testing.F) {
	f.Add("añb", 2, 1)
	f.Add("\xff\xfe\x80", 1, -5)
	f.Add("日本語", math.MaxInt, math.MaxInt)
	f.Fuzz(func(t *testing.T, text string, head, tail int) {
		first, last, ends := Head(text, head), Tail(text, tail), Ends(text, head, tail, "[%d]")
		if !strings.HasPrefix(text, first) || len(first) > max(head, 0) {
			t.Errorf("Head(%q, %d) = %q", text, head, first)
		}
		if !strings.HasSuffix(text, last) || len(last) > max(tail, 0) {
			t.Errorf("Tail(%q, %d) = %q", text, tail, last)
		}
		if utf8.ValidString(text) && !utf8.ValidString(first+last) {
			t.Errorf("cut within a character: %q, %q", first, last)
		}
		if ends != text && !(strings.HasPrefix(ends, first+"\n[") && strings.HasSuffix(ends, "]\n"+last)) {
			t.Errorf("Ends(%q, %d, %d) = %q", text, head, tail, ends)
		}
		if clipped := Clip(text, head); clipped != text && clipped != first+"…" {
			t.Errorf("Clip(%q, %d) = %q", text, head, clipped)
		}
	})
}

// FuzzNumbers compares with numbers of any size.
func FuzzNumbers(f *testing.F) {
	for _, pair := range [][2]int64{{math.MaxInt64, 1}, {math.MinInt64, -1}, {1 << 62, 1 << 62}, {-5, 3}, {0, math.MinInt64}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b int64) {
		saturated := func(n *big.Int) int64 {
			switch {
			case n.IsInt64():
				return n.Int64()
			case n.Sign() > 0:
				return math.MaxInt64
			}
			return math.MinInt64
		}
		x, y := big.NewInt(a), big.NewInt(b)
		if got, want := Add(a, b), saturated(new(big.Int).Add(x, y)); got != want {
			t.Errorf("Add(%d, %d) = %d, want %d", a, b, got, want)
		}
		if got, want := Add(int8(a), int8(b)), int8(max(min(int(int8(a))+int(int8(b)), math.MaxInt8), math.MinInt8)); got != want { // within its bounds
			t.Errorf("Add(int8(%d), int8(%d)) = %d, want %d", int8(a), int8(b), got, want) // any of them
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[float64]int64{0: 0, 12: 12, 1e6: 1e6} {
		if got, ok := Count(n, math.MaxInt64); got != want || !ok {
			t.Errorf("Count(%v) = %d, %t", n, got, ok)
		}
	}
	for _, n := range []float64{-5, 1.5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxInt64} {
		if got, ok := Count(n, math.MaxInt64); ok {
			t.Errorf("Count(%v) = %d", n, got)
		}
	}
}
