package proc

import "testing"

func TestTailKeepsTheEnd(t *testing.T) {
	tail := Tail{Max: 4}
	for _, write := range []struct{ text, want string }{
		{"ab", "ab"}, {"cd", "abcd"}, {"e", "bcde"}, {"123456", "3456"}, {"\xff", "456\uFFFD"},
	} {
		if n, err := tail.Write([]byte(write.text)); n != len(write.text) || err != nil {
			t.Errorf("%q: %d, %v", write.text, n, err)
		}
		if got := tail.String(); got != write.want {
			t.Errorf("after %q: %q", write.text, got)
		}
	}
}
