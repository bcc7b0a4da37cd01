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
		Tools: []model.ToolSpec{
			{Name: text(3), Description: text(6), Schema: json.RawMessage(text(9)), Grammar: text(12)},
		},
		Input: []model.Item{
			{Text: text(30), Name: text(3), Arguments: text(6), Signature: &model.ProviderSignature{Data: text(9)}},
			{Images: make([]event.Image, 2)},
		},
	}
	const want = (30+60)/3 + 8 + (3+6+9+12)/3 + 8 + (30+3+6)/3 + 9/3 + 8 + 2*1600
	if got := estimate(r, tokensPerPage); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

func TestRoomForTheAnswer(t *testing.T) {
	for _, tt := range []struct{ window, most, tokens, room, answer int }{
		{0, 0, 10, 0, 0},
		{0, 500, 10, 0, 500},
		{4000, 0, 10, 3000, 0},
		{4000, 500, 10, 3500, 500},
		{4000, 2000, 10, 3000, 2000},
		{4000, 2000, 2500, 3000, 1500},
		{8000, 2000, 7500, 6000, 1024},
		{800, 2000, 700, 600, 200},
		{40, 2000, 700, 30, 16},
	} {
		w := walk{window: tt.window, target: Target{Traits: model.Traits{MaxOutput: tt.most}}}
		if room, answer := w.room(), answer(tt.window, tt.most, tt.tokens); room != tt.room || answer != tt.answer {
			t.Errorf("%+v: %d for the request, %d for the answer", tt, room, answer)
		}
	}
}

func TestDivide(t *testing.T) {
	text := func(n int) string { return strings.Repeat("é", n/2) }
	for name, tt := range map[string]struct{ sizes, want []int }{
		"what fits":         {[]int{100, 3000, 2900}, []int{100, 3000, 2900}},
		"nothing":           {nil, nil},
		"the longest pays":  {[]int{1000, 90_000}, []int{1000, 5000}},
		"the longest share": {[]int{1000, 9000, 90_000}, []int{1000, 2500, 2500}},
		"too many":          {[]int{9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000}, []int{400}},
	} {
		t.Run(name, func(t *testing.T) {
			var list []model.Item
			for _, n := range tt.sizes {
				list = append(list, model.Item{Text: text(n)})
			}
			w := walk{}
			w.divide(list, 6000)
			for n, i := range list {
				want := tt.want[min(n, len(tt.want)-1)]
				if short := len(i.Text) != tt.sizes[n]; len(i.Text) < want-2 || len(i.Text) > want+70 ||
					short != strings.Contains(i.Text, "bytes of this output were omitted") {
					t.Errorf("output %d of %d bytes became %d: %.30q", n, tt.sizes[n], len(i.Text), i.Text)
				}
			}
		})
	}
}

func TestTrim(t *testing.T) {
	if got := trim(strings.Repeat("é", 1000), "output", "; hint"); got != strings.Repeat(
		"é", 200,
	)+"\n[1600 more bytes of this output were omitted to make room; hint]" {
		t.Errorf("trimmed to %q", got)
	}
	if got := ends("äbcdefgö", 2, 1, "message"); got != "ä\n[8 bytes of this message were omitted here to make room]\n" {
		t.Errorf("the ends are %q", got)
	}
}

// Error texts of providers with numbers: each is from a provider's documentation or from a report,
// with the numbers changed.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		message                string
		requestedOutput, limit int
	}{
		{"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (136000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.", 136000, 131072},
		{"This model's maximum context length is 8192 tokens. However, your messages resulted in 20000 tokens.", 20000, 8192},
		{"prompt is too long: 205000 tokens > 200000 maximum", 205000, 200000},
		{"input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again", 190000, 200000},
		{"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576},
		{"This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 140000, 131072},
		{"the request exceeds the available context size. try increasing the context size or enable context shift", 0, 0},
		{"request (12345 tokens) exceeds the available context size (8192 tokens), try increasing it", 12345, 8192},
		{"Prompt contains 40,000 tokens and 0 draft tokens, too large for model with 32,768 maximum context length", 40000, 32768},
		{"Your input exceeds the context window of this model. Please adjust your input and try again.", 0, 0},
		{"prompt is too long; max context length: 4096 (request id 20260102030405067)", 0, 4096},
		{"Input is too long for requested model.", 0, 0},
	} {
		if requestedOutput, limit := numbers(tt.message, max(tt.requestedOutput, 100_000)/2); requestedOutput != tt.requestedOutput ||
			limit != tt.limit {
			t.Errorf("%d, %d of %s", requestedOutput, limit, tt.message)
		}
	}
}

func TestWindow(t *testing.T) {
	const names = "prompt is too long: 200000 tokens > 100000 maximum"
	for name, tt := range map[string]struct {
		sent    RequestStats
		message string
		want    int
	}{
		"half, without numbers":               {RequestStats{Tokens: 90_000}, "too long", 61_000},
		"half of the answer, if it is longer": {RequestStats{Tokens: 9000, Answer: 64_000}, "too long", 41_000},
		"an answer of unknown length":         {RequestStats{Tokens: 9000}, "too long", 25_000},
		"half of both":                        {RequestStats{Tokens: 9000, Answer: 8000}, "too long", 8500},
		"in our own count":                    {RequestStats{Tokens: 100_000}, names, 45_000},
		"the input alone":                     {RequestStats{Tokens: 100_000, Answer: 64_000}, names, 45_000},
		"we count more":                       {RequestStats{Tokens: 300_000}, names, 90_000},
		"with the output":                     {RequestStats{Tokens: 2000, Answer: 64_000}, "input length and `max_tokens` exceed context limit: 2000 + 64000 > 8192", 7372},
		"the limit alone":                     {RequestStats{Tokens: 100_000}, "maximum context length is 8192", 7373},
		"a limit that says nothing to us":     {RequestStats{Tokens: 6000, Answer: 4000}, "maximum context length is 8192", 5000},
	} {
		if got := tt.sent.window(tt.message); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
