package skills

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/bound"
)

// maxCatalog bounds the catalogue in bytes, because every request contains it.
const maxCatalog = 8 << 10

const catalogHead = "# Skills\n\nA skill is a folder of instructions for one kind of work. When a task is what a skill below is for, load it with the skill tool before you begin, and do as it says. " +
	"The user calls one by /NAME.\n"

// Catalog returns the section of a system prompt with the skills that the model can call;
// "" if there are none. If they exceed the limit, it shortens descriptions, then omits
// skills; note reports this.
func Catalog(list []Skill) (section, note string) {
	var offered []Skill
	for _, s := range list {
		if s.Model {
			offered = append(offered, s)
		}
	}
	if len(offered) == 0 {
		return "", ""
	}
	for _, limit := range []int{maxAbout, 512, 256, 128, 64} {
		lines, cut := catalog(offered, limit)
		if len(lines) <= maxCatalog {
			if cut > 0 && limit < maxAbout {
				note = fmt.Sprintf(
					"the descriptions of %d skills are cut in the prompt, since there are many: settle skills", cut,
				)
			}
			return catalogHead + lines, note
		}
	}
	lines, _ := catalog(offered, 64)
	lines = lines[:strings.LastIndexByte(lines[:maxCatalog], '\n')+1]
	left := len(offered) - (strings.Count(lines, "\n") - 1)
	return catalogHead + lines + fmt.Sprintf("\n%d more are not listed; the skill tool loads them by name.\n", left),
		fmt.Sprintf("%d of %d skills are left out of the prompt, since there are too many: settle skills", left,
			len(offered))
}

// catalog writes one line for each skill.
func catalog(list []Skill, limit int) (lines string, cut int) {
	var b strings.Builder
	b.WriteString("\n")
	for _, s := range list {
		about := s.About
		if len(about) > limit {
			about, cut = short(about, limit)+"…", cut+1
		}
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, about)
	}
	return b.String(), cut
}

func short(text string, limit int) string {
	return strings.TrimSpace(bound.Head(text, limit))
}
