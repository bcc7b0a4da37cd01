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
	// mostPast is how many prompts are remembered, and mostPastBytes how long
	// one of them may be.
	mostPast      = 1000
	mostPastBytes = 64 << 10
)

// past are the prompts that were sent in all sessions, the last one at the end.
type past struct {
	file  string // "" keeps nothing
	texts []string
	// at is the prompt that is looked at, len(texts) for none; draft is what
	// was in the editor before.
	at    int
	draft string
}

// openPast reads what is remembered. What cannot be read is forgotten: it is a
// convenience.
func openPast(dataDir string) *past {
	p := &past{}
	if dataDir == "" {
		return p
	}
	p.file = filepath.Join(dataDir, "prompts.jsonl")
	f, _, err := disk.OpenRegular(p.file)
	if err != nil {
		return p
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*mostPastBytes)
	total := 0
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			p.texts = append(p.texts, text)
			total++
		}
	}
	p.texts = p.texts[max(len(p.texts)-mostPast, 0):]
	p.at = len(p.texts)
	if total > 2*mostPast {
		p.rewrite()
	}
	return p
}

// rewrite keeps the file from growing for ever.
func (p *past) rewrite() {
	var b strings.Builder
	for _, text := range p.texts {
		line, err := json.Marshal(text)
		if err == nil {
			b.Write(line)
			b.WriteString("\n")
		}
	}
	_ = disk.Replace(p.file, []byte(b.String())) // the old one does, too
}

// add remembers a prompt.
func (p *past) add(text string) {
	if n := len(p.texts); text != "" && len(text) <= mostPastBytes && (n == 0 || p.texts[n-1] != text) {
		p.texts = append(p.texts, text)
		p.keep(text)
	}
	p.at, p.draft = len(p.texts), ""
}

func (p *past) keep(text string) {
	if p.file == "" {
		return
	}
	line, err := json.Marshal(text)
	if err != nil {
		return
	}
	f, err := os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n')) // a convenience
	_ = f.Close()
}

// step returns the prompt n further back (or forward, if n is negative), and
// whether there is one.
func (p *past) step(n int, now string) (string, bool) {
	to := p.at - n
	if to < 0 || to > len(p.texts) || to == p.at {
		return "", false
	}
	if p.at == len(p.texts) {
		p.draft = now
	}
	if p.at = to; to == len(p.texts) {
		return p.draft, true
	}
	return p.texts[to], true
}

// search returns the nth last prompt that contains the words, without repeats.
func (p *past) search(words string, n int) (string, bool) {
	words = strings.ToLower(words)
	var found []string
	for _, text := range slices.Backward(p.texts) {
		if strings.Contains(strings.ToLower(text), words) && !slices.Contains(found, text) {
			if found = append(found, text); len(found) > n {
				return text, true
			}
		}
	}
	return "", false
}
