package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestPage: the link that is printed leads to the page, its token to the sessions, and a
// signal ends the command in good order.
func TestPage(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	must(t, "", "submit", "-C", t.TempDir(), "do it")
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() { // ends with stop, and is waited for
		ended <- execute(ctx, []string{"page"}, strings.NewReader(""), in, os.Stderr)
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, token, found := strings.Cut(strings.TrimSpace(line), "#token=")
	if !found {
		t.Fatalf("it prints %q", line)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{"": "<title>settle</title>", "api/sessions": `"title":"do it"`} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("/%s: %s, %v: %s", path, response.Status, err, text)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code, _, errs := command(t, "", "page", "--addr", "0.0.0.0:0"); code == 0 ||
		!strings.Contains(errs, "--insecure") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
