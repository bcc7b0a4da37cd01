package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/tool/skill"
)

// loadedTexts collects the latest text of each path.
type loadedTexts struct {
	all []LoadedText
	at  map[string]int
}

// take adds an item that loaded a text.
func (l *loadedTexts) take(i *event.Item) {
	if i.Status != event.ItemCompleted {
		return
	}
	switch i.Type() {
	case event.Note:
		if c := i.Content(); c.Instruction != "" {
			l.put(LoadedText{Path: c.Instruction, Text: c.Text})
		}
	case event.ToolCall:
		c := i.Content()
		if c.Name != skill.Name || !bytes.Contains(c.Detail, []byte(`"skill"`)) {
			return
		}
		var detail skill.Detail
		if json.Unmarshal(c.Detail, &detail) == nil && detail.Skill.Name != "" {
			l.put(LoadedText{Skill: detail.Skill.Name, Path: detail.Skill.Path, Text: c.Output})
		}
	}
}

func (l *loadedTexts) put(one LoadedText) {
	if at, known := l.at[one.Path]; known {
		l.all[at].Text = ""
	}
	l.at[one.Path] = len(l.all)
	l.all = append(l.all, one)
}

func (l *loadedTexts) list() (out []LoadedText) {
	for _, one := range l.all {
		if one.Text != "" {
			out = append(out, one)
		}
	}
	return out
}

// writeLoaded lists the loaded texts within so many bytes. A text without room is named, so that
// the model can load it again.
func (l Digest) writeLoaded(b *strings.Builder, room bound.Budget) {
	if len(l.Loaded) == 0 {
		return
	}
	heading(b, "Loaded before, and still in force", 0)
	for n := range l.Loaded { // the latest texts come first
		if one := l.Loaded[len(l.Loaded)-1-n]; room.Fits(len(one.Text)) {
			fmt.Fprintf(b, "- %s\n%s\n", one.name(), one.Text)
		} else if one.Skill != "" {
			fmt.Fprintf(
				b, "- %s: load it again with the skill tool before you continue the work that it covers\n", one.name(),
			)
		} else {
			fmt.Fprintf(b, "- %s: read them again before you work there\n", one.name())
		}
	}
}

func (l LoadedText) name() string {
	if l.Skill != "" {
		return fmt.Sprintf("the skill %q (%s)", l.Skill, oneLine(l.Path))
	}
	return "instructions in " + oneLine(l.Path)
}
