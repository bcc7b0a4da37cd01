package oneturn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// input is standard input with the words in it, closed, as a pipe or a file.
func input(t *testing.T, kind, words string) *os.File {
	t.Helper()
	if kind == "file" {
		path := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(path, []byte(words), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	if _, err := writer.WriteString(words); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return reader
}

func TestPrompt(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		stdin    string
		terminal bool
		want     string
		wrong    string
	}{
		{args: []string{"fix", "it"}, want: "fix it"},
		{args: []string{"fix", "it"}, terminal: true, want: "fix it"},
		{args: []string{" /init", "panics "}, want: " /init panics"},
		{args: []string{"\n", "\n"}, wrong: "the prompt is empty"},
		{stdin: "from stdin\n", want: "from stdin"},
		{stdin: "\r\n /init panics\n", want: " /init panics"},
		{args: []string{"-"}, stdin: "from stdin\n", want: "from stdin"},
		{args: []string{"review"}, stdin: "a diff", want: "review\n\n<stdin>\na diff\n</stdin>"},
		{args: []string{"review", "-"}, stdin: "a diff", want: "review\n\n<stdin>\na diff\n</stdin>"},
		{args: []string{"odd"}, stdin: "\xffbytes", want: "odd\n\n<stdin>\n\uFFFDbytes\n</stdin>"},
		{terminal: true, wrong: "there is no prompt"},
		{wrong: "the prompt is empty"},
		{args: []string{" "}, wrong: "the prompt is empty"},
		{args: []string{"look"}, stdin: "PNG\x00\x01", wrong: "not text"},
	} {
		for _, kind := range []string{"pipe", "file"} {
			got, bare, err := Prompt(t.Context(), tt.args, input(t, kind, tt.stdin), tt.terminal)
			if want := kind == "pipe" && tt.stdin == "" && tt.want != "" && !tt.terminal; bare != want {
				t.Errorf("%q with an empty %s: bare is %t", tt.args, kind, bare)
			}
			var usage *UsageError
			switch {
			case tt.wrong != "" && (!errors.As(err, &usage) || !strings.Contains(usage.Message, tt.wrong)):
				t.Errorf("%q with %q: got %q, %v; want an error with %q", tt.args, tt.stdin, got, err, tt.wrong)
			case tt.wrong == "" && (err != nil || got != tt.want):
				t.Errorf("%q with %q: got %q, %v; want %q", tt.args, tt.stdin, got, err, tt.want)
			}
		}
	}
}

// A run that was asked to read its input waits for it, until it is interrupted.
func TestPromptWaitsForInput(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if got, _, err := Prompt(ctx, []string{"-"}, reader, false); !errors.Is(err, enough) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPromptIsBounded(t *testing.T) {
	_, _, err := Prompt(t.Context(), []string{"-"}, input(t, "file", strings.Repeat("x", maxInput+1)), false)
	var usage *UsageError
	if !errors.As(err, &usage) {
		t.Errorf("got %v", err)
	}
}

func TestAnswerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(path, []byte("a long old answer"), 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := AnswerFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if before, _ := os.ReadFile(path); string(before) != "a long old answer" {
		t.Errorf("before the end: %q", before)
	}
	if err := keep("short"); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(path); string(after) != "short" {
		t.Errorf("after it: %q", after)
	}
	if _, err := AnswerFile(filepath.Join(path, "x")); err == nil {
		t.Error("a file in a file")
	}
}
