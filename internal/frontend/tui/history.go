package tui

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// maxHistory bounds the remembered prompts, and maxPromptBytes the length of each.
	maxHistory     = 1000
	maxPromptBytes = 64 << 10
)

// history has the prompts that were sent in all sessions, the last one at the end.
type history struct {
	file  string // "" keeps nothing
	texts []string
	// at is the index of the recalled prompt, or len(texts) for none. draft is the editor's
	// text before the recall.
	at    int
	draft string
}

// openHistory reads the remembered prompts. It skips unreadable ones.
func openHistory(dataDir string) *history {
	h := &history{}
	if dataDir == "" {
		return h
	}
	h.file = filepath.Join(dataDir, "prompts.jsonl")
	f, _, err := disk.OpenRegular(h.file)
	if err != nil {
		return h
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*maxPromptBytes)
	total := 0
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			h.texts = append(h.texts, text)
			total++
		}
	}
	h.texts = h.texts[max(len(h.texts)-maxHistory, 0):]
	h.at = len(h.texts)
	if total > 2*maxHistory {
		h.rewrite()
	}
	return h
}

// rewrite keeps the file from growing without bound.
func (h *history) rewrite() {
	var b strings.Builder
	for _, text := range h.texts {
		line, err := json.Marshal(text)
		if err == nil {
			b.Write(line)
			b.WriteString("\n")
		}
	}
	_ = disk.Replace(h.file, []byte(b.String())) // the longer file works as well
}

// add remembers a prompt.
func (h *history) add(text string) {
	if n := len(h.texts); text != "" && len(text) <= maxPromptBytes && (n == 0 || h.texts[n-1] != text) {
		h.texts = append(h.texts, text)
		h.keep(text)
	}
	h.at, h.draft = len(h.texts), ""
}

func (h *history) keep(text string) {
	if h.file == "" {
		return
	}
	line, err := json.Marshal(text)
	if err != nil {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n')) // a convenience
	_ = f.Close()
}

// step returns the prompt n further back (or forward, if n is negative), and
// whether there is one.
func (h *history) step(n int, now string) (string, bool) {
	to := h.at - n
	if to < 0 || to > len(h.texts) || to == h.at {
		return "", false
	}
	if h.at == len(h.texts) {
		h.draft = now
	}
	if h.at = to; to == len(h.texts) {
		return h.draft, true
	}
	return h.texts[to], true
}

// search returns the nth last prompt that contains the words, without repeats.
func (h *history) search(words string, n int) (string, bool) {
	words = strings.ToLower(words)
	var found []string
	for _, text := range slices.Backward(h.texts) {
		if strings.Contains(strings.ToLower(text), words) && !slices.Contains(found, text) {
			if found = append(found, text); len(found) > n {
				return text, true
			}
		}
	}
	return "", false
}
