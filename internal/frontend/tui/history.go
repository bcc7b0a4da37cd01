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
	// at is the index of the recalled prompt, or len(texts) for none. edited has the editor's text
	// by the index at which it was left: the draft at len(texts), and recalled prompts as changed.
	at     int
	edited map[int][]part
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
	h.leave()
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
	h.leave()
}

// leave forgets the recalled prompt: the next recall begins with the last prompt.
func (h *history) leave() { h.at, h.edited = len(h.texts), nil }

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

// step returns the prompt n further back (or forward, if n is negative) as it was left, and whether
// there is one. now is the editor's text, to which the way back leads.
func (h *history) step(n int, now []part) ([]part, bool) { return h.recall(h.at-n, now) }

// find recalls the last prompt with the text.
func (h *history) find(text string, now []part) ([]part, bool) {
	for n, one := range slices.Backward(h.texts) {
		if one == text {
			h.recall(n, now)
			delete(h.edited, n)
			return foldedParts(text), true
		}
	}
	return nil, false
}

func (h *history) recall(to int, now []part) ([]part, bool) {
	if to < 0 || to > len(h.texts) || to == h.at {
		return nil, false
	}
	if h.edited == nil {
		h.edited = map[int][]part{}
	}
	h.edited[h.at] = slices.Clone(now)
	h.at = to
	if left, ok := h.edited[to]; ok || to == len(h.texts) {
		return left, true
	}
	return foldedParts(h.texts[to]), true
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
