package modeltest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// cached is a client of a server that caches, whose tokens are of four bytes.
type cached struct {
	t      *testing.T
	server *modeltest.Server
	path   string
}

func newCached(t *testing.T, path string) cached {
	t.Helper()
	sc := modeltest.Scenario{
		Rules:  modeltest.Rules{Caches: true, Off: true},
		Answer: func(modeltest.Request) modeltest.Turn { return modeltest.Say("Yes.") },
	}
	return cached{t, modeltest.NewMemoryServer(t, sc), path}
}

// spent is the cache usage that a response reports, in tokens. The number of uncached tokens is
// left out: it depends on the length of the JSON.
type spent struct{ Read, Write int64 }

func (c cached) ask(body string) spent {
	c.t.Helper()
	res, err := c.server.Client().Post(c.server.URL+c.path, "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	raw, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%d %v: %s", res.StatusCode, err, raw)
	}
	var answer struct {
		Usage struct {
			Read    int64 `json:"cache_read_input_tokens"`
			Write   int64 `json:"cache_creation_input_tokens"`
			Details struct {
				Read  int64 `json:"cached_tokens"`
				Write int64 `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		c.t.Fatal(err)
	}
	u := answer.Usage
	return spent{u.Read + u.Details.Read, u.Write + u.Details.Write}
}

// block is a block of a hundred tokens or a little more.
func block(n int, marked bool) string {
	mark := ""
	if marked {
		mark = `,"cache_control":{"type":"ephemeral"}`
	}
	return fmt.Sprintf(`{"type":"text","text":"%d %s"%s}`, n, strings.Repeat("word ", 76), mark)
}

// blocks is a conversation of n blocks, of which the marked have a breakpoint.
func blocks(n int, marked ...int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = block(i+1, false)
	}
	for _, m := range marked {
		list[m-1] = block(m, true)
	}
	return strings.Join(list, ",")
}

func claude(model, more, content string) string {
	return fmt.Sprintf(
		`{"model":%q,"max_tokens":10%s,"messages":[{"role":"user","content":[%s]}]}`, model, more, content,
	)
}

// near reports whether the counts are of so many blocks.
func near(t *testing.T, what string, got spent, read, write int) {
	t.Helper()
	in := func(tokens int64, blocks int) bool {
		return tokens >= int64(blocks)*100 && tokens <= int64(blocks)*110
	}
	if !in(got.Read, read) || !in(got.Write, write) {
		t.Errorf(
			"%s: read %d and wrote %d tokens, want about %d and %d blocks of 100", what, got.Read, got.Write, read,
			write,
		)
	}
}

// TestCacheOfMessages follows the examples and the table of
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
func TestCacheOfMessages(t *testing.T) {
	const sonnet = "claude-sonnet-5" // from 1,024 tokens on
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, "/v1/messages")
		near(t, "no breakpoint", c.ask(claude(sonnet, "", blocks(20))), 0, 0)
		near(t, "the first of a growing conversation", c.ask(claude(sonnet, "", blocks(11, 11))), 0, 11)
		near(t, "the second", c.ask(claude(sonnet, "", blocks(15, 15))), 11, 4)
		near(t, "the third is 20 blocks further", c.ask(claude(sonnet, "", blocks(35, 35))), 0, 35)
		near(t, "with a second breakpoint", c.ask(claude(sonnet, "", blocks(36, 15, 36))), 35, 1)
		near(t, "19 blocks further", c.ask(claude(sonnet, "", blocks(55, 55))), 36, 19)
		near(t, "another model", c.ask(claude("claude-sonnet-4-6", "", blocks(55, 55))), 0, 55)
		near(
			t, "5 minutes later",
			func() spent { time.Sleep(5 * time.Minute); return c.ask(claude(sonnet, "", blocks(55, 55))) }(), 0, 55,
		)
		for range 3 { // each read is for five minutes more
			time.Sleep(4 * time.Minute)
			near(t, "used again and again", c.ask(claude(sonnet, "", blocks(55, 55))), 55, 0)
		}
	})
	for name, c := range map[string]struct {
		model        string
		blocks, want int // how many are written, and of so many
	}{
		"below 512":            {"claude-opus-5", 4, 0},
		"above 512":            {"claude-opus-5", 6, 6},
		"below 1,024":          {"claude-opus-4-8", 9, 0},
		"above 1,024":          {"claude-opus-4-8-20260101", 11, 11},
		"below 2,048":          {"claude-opus-4-7", 18, 0},
		"below 4,096":          {"claude-haiku-4-5", 36, 0},
		"above 4,096":          {"claude-haiku-4-5", 42, 42},
		"of a model not known": {"claude-novel-9", 36, 0},
	} {
		t.Run(name, func(t *testing.T) {
			near(t, name, newCached(t, "/v1/messages").ask(claude(c.model, "", blocks(c.blocks, c.blocks))), 0, c.want)
		})
	}
}

// TestCacheOfMessagesInvalidated: a change keeps the cache of the parts before it.
func TestCacheOfMessagesInvalidated(t *testing.T) {
	tools := func(n int) string {
		return fmt.Sprintf(`,"tools":[{"name":"t%d","input_schema":{}},%s]`, n, block(1, true))
	}
	system := func(n int) string { return fmt.Sprintf(`,"system":[%s,%s]`, blocks(12), block(n, true)) }
	base := tools(1) + system(20)
	body := func(more string) string { return claude("claude-opus-5", more, blocks(10, 10)) }
	for name, c := range map[string]struct {
		more string
		read int // blocks
	}{
		"nothing":                {base, 24},
		"max_tokens and others":  {base + `,"temperature":0.5`, 24},
		"a tool":                 {tools(2) + system(20), 0},
		"the instructions":       {tools(1) + system(21), 0}, // the entry of the tools alone is too small
		"tool_choice":            {base + `,"tool_choice":{"type":"none"}`, 14},
		"thinking":               {base + `,"thinking":{"type":"adaptive"}`, 14},
		"the effort":             {base + `,"output_config":{"effort":"low"}`, 14},
		"a schema of the answer": {base + `,"output_config":{"format":{"type":"json_schema","schema":{}}}`, 0},
		"the speed":              {base + `,"speed":"fast"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newCached(t, "/v1/messages")
			near(t, "first", a.ask(body(base)), 0, 24)
			near(t, name, a.ask(body(c.more)), c.read, 24-c.read)
		})
	}
	t.Run("an image", func(t *testing.T) {
		a := newCached(t, "/v1/messages")
		a.ask(body(base))
		with := claude(
			"claude-opus-5", base,
			blocks(10, 10)+`,{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}`,
		)
		near(t, "an image", a.ask(with), 14, 10)
	})
	t.Run("a failed request writes nothing", func(t *testing.T) {
		a := newCached(t, "/v1/messages")
		a.server.Then(modeltest.Say("No.").With(modeltest.Status(http.StatusServiceUnavailable).First(1)))
		res, err := a.server.Client().Post(a.server.URL+a.path, "application/json", strings.NewReader(body(base)))
		if err != nil || res.StatusCode != http.StatusServiceUnavailable {
			t.Fatal(err, res.StatusCode)
		}
		_ = res.Body.Close()
		near(t, "the first that succeeds", a.ask(body(base)), 0, 24)
	})
	t.Run("an hour", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newCached(t, "/v1/messages")
			long := strings.ReplaceAll(body(""), `"ephemeral"`, `"ephemeral","ttl":"1h"`)
			near(t, "first", a.ask(long), 0, 10)
			time.Sleep(59 * time.Minute)
			near(t, "before the hour", a.ask(long), 10, 0)
			time.Sleep(time.Hour)
			near(t, "after it", a.ask(long), 0, 10)
		})
	})
}

// TestCacheOfOldThinking: some models do not read the thinking of earlier turns.
func TestCacheOfOldThinking(t *testing.T) {
	thought := `{"type":"thinking","thinking":"` + strings.Repeat("word ", 80) + `","signature":"s"}`
	body := func(model, last string) string {
		return fmt.Sprintf(
			`{"model":%q,"max_tokens":10,"messages":[{"role":"user","content":[%s]},{"role":"assistant","content":[%s,{"type":"tool_use","id":"a","name":"t","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}%s]}]}`,
			model,
			blocks(11, 11),
			thought,
			last,
		)
	}
	marked := `,` + block(50, true)
	for model, want := range map[string]int{"claude-sonnet-4-5": 11, "claude-opus-5": 13} {
		a := newCached(t, "/v1/messages")
		a.ask(
			strings.Replace(body(model, ""), `"content":"x"`, `"content":"x","cache_control":{"type":"ephemeral"}`, 1),
		)
		if got := a.ask(body(model, marked)).Read / 100; got != int64(want) && got != int64(want)-1 {
			t.Errorf("%s reads %d blocks, want %d", model, got, want)
		}
	}
}

func gpt(model, more string, words int) string {
	return fmt.Sprintf(
		`{"model":%q,"input":[{"type":"message","role":"user","content":%q}]%s}`, model, strings.Repeat("word", words),
		more,
	)
}

// TestCacheOfResponses follows https://developers.openai.com/api/docs/guides/prompt-caching.
func TestCacheOfResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, "/v1/responses")
		key := `,"prompt_cache_key":"k"`
		if got := []spent{
			c.ask(gpt("gpt-5.4", key, 900)), c.ask(gpt("gpt-5.4", key, 900)), // below 1,024
			c.ask(gpt("gpt-5.4", key, 1100)), c.ask(gpt("gpt-5.4", key, 1100)),
			c.ask(gpt("gpt-5.4", key, 1300)), c.ask(gpt("gpt-5.4", key, 1600)),
			c.ask(gpt("gpt-5.4", `,"prompt_cache_key":"other"`, 1600)),
			c.ask(gpt("gpt-5.1", key, 1600)),
		}; !cmp.Equal(got, []spent{{}, {}, {}, {Read: 1024}, {Read: 1024}, {Read: 1280}, {}, {}}) {
			t.Errorf("got %v", got)
		}
		time.Sleep(4 * time.Minute)
		near4 := c.ask(gpt("gpt-5.4", key, 1600))
		time.Sleep(5 * time.Minute)
		gone := c.ask(gpt("gpt-5.4", key, 1600))
		if near4.Read != 1536 || gone.Read != 0 {
			t.Errorf("read %d after four minutes, and %d five later", near4.Read, gone.Read)
		}
		for range 15 { // it is used all the time
			time.Sleep(4 * time.Minute)
			gone = c.ask(gpt("gpt-5.4", key, 1600))
		}
		if gone.Read != 0 {
			t.Errorf("read %d after an hour", gone.Read)
		}
		day := `,"prompt_cache_retention":"24h"`
		c.ask(gpt("gpt-5", day, 1600))
		time.Sleep(23 * time.Hour)
		if got := c.ask(gpt("gpt-5", day, 1600)); got.Read != 1536 {
			t.Errorf("read %d within the day", got.Read)
		}
	})
}

// TestCacheOfBreakpoints: from GPT-5.6 on, entries end at messages.
func TestCacheOfBreakpoints(t *testing.T) {
	said := func(more string, list ...string) string {
		var items []string
		for _, role := range list {
			role, mark, _ := strings.Cut(role, " ")
			if mark != "" {
				mark = `,"prompt_cache_breakpoint":{"mode":"explicit"}`
			}
			items = append(
				items,
				fmt.Sprintf(
					`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q%s}]}`, role,
					strings.Repeat("word", 1175), mark,
				),
			)
		}
		return fmt.Sprintf(`{"model":"gpt-5.6-sol","input":[%s]%s}`, strings.Join(items, ","), more)
	}
	key := `,"prompt_cache_key":"k"`
	synctest.Test(t, func(t *testing.T) {
		c := newCached(t, "/v1/responses")
		kilo := func(body string) spent {
			s := c.ask(body)
			return spent{s.Read / 1100, s.Write / 1100}
		}
		got := []spent{
			kilo(said("", "user")), kilo(said("", "user")), // no key
			kilo(said(key, "user")), kilo(said(key, "user")),
			kilo(said(key, "user", "assistant", "user")), kilo(said(key, "user", "assistant", "user", "user")),
			kilo(said(key, "developer", "user")),      // another prefix
			kilo(said(key, "developer", "assistant")), // not at a breakpoint
			kilo(said(key+`,"prompt_cache_options":{"mode":"explicit"}`, "user")),
			kilo(said(key, "developer x", "user", "user")),
			kilo(said(key+`,"prompt_cache_options":{"mode":"explicit"}`, "developer x", "assistant")),
		}
		want := []spent{{}, {}, {0, 1}, {1, 0}, {1, 2}, {3, 1}, {0, 2}, {}, {}, {2, 1}, {1, 0}}
		if !cmp.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		time.Sleep(29 * time.Minute)
		before := kilo(said(key, "user"))
		time.Sleep(30 * time.Minute)
		if after := kilo(said(key, "user")); before.Read != 1 || after.Read != 0 {
			t.Errorf("read %v within half an hour and %v after it", before, after)
		}
		var many []string
		for range 52 {
			many = append(many, "user")
		}
		c.ask(said(key, "user"))
		if got := c.ask(said(key, many...)); got.Read != 0 {
			t.Errorf("read %d at the 52nd breakpoint from the end", got.Read)
		}
	})
}

// TestCacheOfOpenRouter: the breakpoints of Claude go through Chat Completions, also
// the automatic one.
func TestCacheOfOpenRouter(t *testing.T) {
	c := newCached(t, "/v1/chat/completions")
	body := func(words int) string {
		return fmt.Sprintf(
			`{"model":"anthropic/claude-opus-5","cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":[%s]},{"role":"tool","tool_call_id":"a","content":%q}]}`,
			blocks(12),
			strings.Repeat("word", words),
		)
	}
	read := func(body string) int64 {
		res, err := c.server.Client().Post(c.server.URL+c.path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		var answer struct {
			Usage struct {
				Details struct {
					Read int64 `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			} `json:"usage"`
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer.Usage.Details.Read
	}
	if first, second, other := read(body(50)), read(body(50)), read(body(60)); first != 0 || second < 1200 ||
		other != 0 {
		t.Errorf("read %d, %d, %d", first, second, other)
	}
}
