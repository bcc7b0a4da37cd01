package modeltest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/settle-agent/settle/modeltest"
)

// A client receives two rate limit errors, then its answer.
func Example() {
	srv := modeltest.NewServer(nil, modeltest.Script(
		modeltest.Say("Hello!").With(modeltest.Status(429, modeltest.RetrySeconds(7)).First(2)),
	))
	defer srv.Close()

	for range 3 {
		res, err := http.Post(srv.OpenAI()+"/chat/completions", "application/json",
			strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d, retry after %q\n", res.StatusCode, res.Header.Get("Retry-After"))
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if _, rest, found := strings.Cut(lines.Text(), `"content":"Hell`); found {
				fmt.Println("content: Hell" + rest[:2])
			}
		}
		res.Body.Close()
	}
	fmt.Println("turns left:", srv.Left())
	// Output:
	// 429, retry after "7"
	// 429, retry after "7"
	// 200, retry after ""
	// content: Hello!
	// turns left: 0
}

// The connection is reset in the middle of the answer.
func ExampleReset() {
	srv := modeltest.NewServer(nil, modeltest.Script(
		modeltest.Say("This never arrives whole.").With(modeltest.Reset(modeltest.AfterDelta(1))),
	))
	defer srv.Close()
	res, err := http.Post(srv.Anthropic()+"/v1/messages", "application/json", strings.NewReader(
		`{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	_, err = io.ReadAll(res.Body)
	fmt.Println(err != nil, srv.Exchanges()[0].Ended)
	// Output: true fault
}
