package history

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"azAZ09_-": true, "": false, "a b": false, "é": false, "a/": false, "a:": false, "a@": false, "a[": false, "a`": false, "a{": false,
		strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
	} {
		if got := validName(name); got != want {
			t.Errorf("%q is a name: %v", name, got)
		}
	}
	for name, want := range map[string]string{"": "unknown", "look": "look", "a b/c": "a_b_c", strings.Repeat("é", 70): strings.Repeat("_", 64)} {
		if got := toolName(name); got != want {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}

func TestArguments(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, "": "{}", " \n": "{}", "null": `{"invalid_arguments":"null"}`, `[1]`: `{"invalid_arguments":"[1]"}`, `{"a":`: `{"invalid_arguments":"{\"a\":"}`,
	} {
		if got := arguments(raw); got != want {
			t.Errorf("%s becomes %s", raw, got)
		}
	}
	long := arguments(strings.Repeat("x", 5000))
	if !json.Valid([]byte(long)) || len(long) > 2100 || !strings.Contains(long, "[3000 more bytes]") {
		t.Errorf("long ones become %s", long)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abc", 4, "abc"},
		{"abcd", 3, "abc… [1 more bytes]"},
		{"aé", 2, "a… [2 more bytes]"},
		{"é", 1, "… [2 more bytes]"},
		{"漢字", 5, "漢… [3 more bytes]"},
		{"", 0, ""},
		{"ab", 0, "… [2 more bytes]"},
	} {
		if got := cut(tt.s, tt.n); got != tt.want {
			t.Errorf("%q to %d: %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
	if got := cutAt("\x80\x80", 1); got != "" {
		t.Errorf("no characters: %q", got)
	}
}

func TestEstimate(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	r := model.Request{
		System: text(30), Schema: json.RawMessage(text(60)),
		Tools: []model.ToolSpec{{Name: text(3), Description: text(6), Schema: json.RawMessage(text(9)), Grammar: text(12)}},
		Input: []model.Item{
			{Text: text(30), Name: text(3), Arguments: text(6), Seal: &model.Seal{Data: text(9)}},
			{Images: make([]event.Image, 2)},
		},
	}
	const want = (30+60)/3 + 8 + (3+6+9+12)/3 + 8 + (30+3+6)/3 + 9/3 + 8 + 2*1600
	if got := estimate(r); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct{ window, most, want int }{{4000, 0, 1000}, {4000, 500, 500}, {4000, 2000, 1000}} {
		if got := answer(Target{Window: tt.window, MaxOutput: tt.most}); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// calls are as many calls with outputs of so many bytes, and one more whose
// output the model has not seen.
func calls(n, bytes int) (items []model.Item) {
	for range n + 1 {
		items = append(items, model.Item{Role: model.Call}, model.Item{Role: model.Output, Text: strings.Repeat("x", bytes)})
	}
	return items
}

func TestTrimmable(t *testing.T) {
	items := append([]model.Item{{Role: model.User, Text: strings.Repeat("x", 5000)}}, calls(2, 801)...)
	items[2].Text = items[2].Text[:800]
	if got := trimmable(items); len(got) != 1 || got[0] != 4 {
		t.Errorf("%v may be trimmed", got)
	}
	if got := trimmable([]model.Item{{Role: model.Output, Text: strings.Repeat("x", 5000)}}); len(got) > 0 {
		t.Errorf("with no call, %v may be trimmed", got)
	}
	if got := trim(strings.Repeat("é", 1000)); !strings.HasPrefix(got, strings.Repeat("é", 200)+"\n[1600 more bytes ") {
		t.Errorf("trimmed to %q", got)
	}
}

// What fits is left as it is, to the token; what does not is trimmed in steps.
func TestFit(t *testing.T) {
	b := Built{Request: model.Request{Input: calls(20, 3000)}}
	all := estimate(b.Request)
	for _, tt := range []struct{ window, most, trimmed, tokens int }{
		{0, 0, 0, 0},
		{0, 7000, 0, 7000},
		{all * 4 / 3, 0, 0, 0},
		{all + 4096, 4096, 0, 4096},
		{all + 4095, 4096, 8, 4096},
		{all - 8*900 + 4096, 4096, 16, 4096},
		{5000, 4096, 20, 1024},
	} {
		b := Built{Request: model.Request{Input: calls(20, 3000)}}
		b.fit(Target{Window: tt.window, MaxOutput: tt.most})
		if b.Trimmed != tt.trimmed || b.MaxTokens != tt.tokens || b.Tokens != estimate(b.Request) {
			t.Errorf("%+v: %d trimmed, %d tokens for the answer, %d for the request, which has %d", tt, b.Trimmed, b.MaxTokens, b.Tokens, estimate(b.Request))
		}
	}
}
