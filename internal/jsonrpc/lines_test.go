package jsonrpc_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

// The rest of a line that is too long is skipped, and only that.
func TestReader(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	text := "one\n\n  two \r\n" + long + "\nthree\n" + strings.Repeat(
		"y",
		100,
	) + "\n" + strings.Repeat(
		"z",
		90,
	) + "\nfour"
	for name, in := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		r := jsonrpc.NewLineReader(in, 90)
		var got []string
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if line.Cut {
				line.Text = append(line.Text, '+')
			}
			got = append(got, string(line.Text))
		}
		want := []string{
			"one",
			"two",
			long[:90] + "+",
			"three",
			strings.Repeat("y", 90) + "+",
			strings.Repeat("z", 90),
			"four",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The data before a failed read are a line; then comes the error.
func TestReaderFails(t *testing.T) {
	r := jsonrpc.NewLineReader(iotest.TimeoutReader(iotest.HalfReader(strings.NewReader("one\ntwo"))), 90)
	var got []string
	for {
		line, err := r.Next()
		if err != nil {
			if !errors.Is(err, iotest.ErrTimeout) {
				t.Errorf("the error is %v", err)
			}
			break
		}
		got = append(got, string(line.Text))
	}
	if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzReader: every line is read once, whole or its beginning, and reading ends.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "\n", "{}\n{}", "a\r\nb", strings.Repeat("z", 70)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := jsonrpc.NewLineReader(strings.NewReader(text), 64)
		for want := range strings.SplitSeq(text, "\n") {
			cut := len(want) > 64
			if cut {
				want = want[:64]
			}
			if want = strings.TrimSpace(want); want == "" && !cut {
				continue
			}
			line, err := r.Next()
			if err != nil || string(line.Text) != want || line.Cut != cut {
				t.Fatalf("got %q (cut: %v), %v; want %q (cut: %v)", line.Text, line.Cut, err, want, cut)
			}
		}
		if line, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the end: %q, %v", line.Text, err)
		}
	})
}
