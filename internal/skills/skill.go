package skills

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// FileName is the file that makes a folder a skill.
const FileName = "SKILL.md"

// The limits of the format in bytes, and settle's own limit maxFile.
const (
	maxName          = 64
	maxAbout         = 1024
	maxCompatibility = 500
	maxFile          = 256 << 10
)

// Skill is the description of a skill that is not loaded.
type Skill struct {
	Name string
	// About is its purpose in one line.
	About string
	// Path is its SKILL.md, Dir its folder, and Real its folder without links.
	Path, Dir, Real string
	// Project reports that the skill belongs to the project and not to the user. Plugin is
	// the plugin that has it; "" for none.
	Project                bool
	Plugin                 string
	License, Compatibility string
	Metadata               map[string]string
	// Hint describes its arguments for people.
	Hint string
	// AllowedTools are the tools that it requests to use without approval.
	AllowedTools []string
	// Model and User report who can call it.
	Model, User bool
	// Warnings are violations of the format that settle tolerates.
	Warnings []string
	// Hash is the hash of the file's content.
	Hash string

	body    string
	place   Place
	sources Sources
}

// parse reads the SKILL.md of a folder with the name.
func parse(folder, text string) (Skill, error) {
	head, body, ok := Split(Clean(text))
	if !ok {
		return Skill{}, errors.New(
			"it does not begin with a head: a line ---, name and description, and another line ---",
		)
	}
	h, err := Parse(head)
	if err != nil {
		return Skill{}, err
	}
	s := Skill{
		Name: h.Text("name"), About: strings.Join(strings.Fields(h.Text("description")), " "),
		License:       h.Text("license"),
		Compatibility: h.Text("compatibility"), Metadata: h.Map("metadata"), Hint: h.Text("argument-hint"),
		AllowedTools: h.List("allowed-tools"),
		Model:        !h.Bool("disable-model-invocation", false), User: h.Bool("user-invocable", true),
		body: strings.TrimSpace(body),
	}
	if s.Name == "" {
		s.Name = folder
		s.warn("it has no name: it is called by the name of its folder")
	}
	switch {
	case strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.HasPrefix(s.Name, "-"):
		return Skill{}, fmt.Errorf("its name %q is not of small letters, digits and -", s.Name)
	case s.About == "":
		return Skill{}, errors.New("it has no description of its purpose")
	case s.body == "":
		return Skill{}, errors.New("it says nothing after its head")
	}
	s.check(folder)
	for _, key := range []string{"model", "effort", "context", "agent", "hooks"} {
		if _, there := h[key]; there {
			s.warn("settle does not use its " + key)
		}
	}
	return s, nil
}

// check adds warnings about violations of the format that settle tolerates.
func (s *Skill) check(folder string) {
	if s.Name != folder {
		s.warn(fmt.Sprintf("its name differs from the name of its folder, %q", folder))
	}
	if len(s.Name) > maxName {
		s.warn(fmt.Sprintf("its name has %d characters; the format allows %d", len(s.Name), maxName))
	}
	if strings.ContainsRune(s.Name, '_') || strings.Contains(s.Name, "--") || strings.HasSuffix(s.Name, "-") {
		s.warn("its name is not words of small letters and digits with one - between them")
	}
	if n := len([]rune(s.About)); n > maxAbout {
		s.warn(fmt.Sprintf("its description has %d characters; the format allows %d", n, maxAbout))
	}
	if n := len([]rune(s.Compatibility)); n > maxCompatibility {
		s.warn(fmt.Sprintf("its compatibility has %d characters; the format allows %d", n, maxCompatibility))
	}
}

func (s *Skill) warn(text string) { s.Warnings = append(s.Warnings, text) }

// readSkill reads the skill in a folder.
func (s Sources) readSkill(p Place, dir string) (Skill, error) {
	path := filepath.Join(dir, FileName)
	real, err := s.resolve(p, dir)
	if err != nil {
		return Skill{}, err
	}
	data, size, err := s.Read(p, path, maxFile)
	if err != nil {
		return Skill{}, err
	}
	if size > maxFile {
		return Skill{}, fmt.Errorf("it has %d bytes; the limit is %d", size, maxFile)
	}
	skill, err := parse(filepath.Base(dir), string(data))
	if err != nil {
		return Skill{}, err
	}
	sum := sha256.Sum256(data)
	skill.Path, skill.Dir, skill.Project, skill.Hash = path, dir, p.Project, hex.EncodeToString(sum[:])
	skill.Real, skill.place, skill.sources = real, p, s
	skill.Name, skill.Plugin = p.Plugin.Qualified(skill.Name), p.Plugin.name()
	return skill, nil
}

// resolve follows the links of a path of a place; in a project, only within the project.
func (s Sources) resolve(p Place, path string) (string, error) {
	if !p.Project {
		return disk.Resolve(path)
	}
	f, err := s.Project.Locate(path)
	return f.Real(), err
}

// Load reads the skill's current content.
func (s Skill) Load() (Loaded, error) {
	now, err := s.sources.readSkill(s.place, s.Dir)
	if err != nil {
		return Loaded{}, fmt.Errorf("cannot load the skill %q: %w", s.Name, err)
	}
	return Loaded{Skill: now, Files: beside(now.Real)}, nil
}

// Loaded is a skill with its body and the names of its files.
type Loaded struct {
	Skill
	Files []string
}

// Body returns its instructions with the arguments inserted.
func (l Loaded) Body(arguments string) string {
	text := strings.ReplaceAll(l.place.Plugin.Filled(l.body), "${CLAUDE_SKILL_DIR}", filepath.ToSlash(l.Dir))
	if arguments = strings.TrimSpace(arguments); arguments == "" {
		return strings.ReplaceAll(text, "$ARGUMENTS", "") // $1 can belong to a script
	}
	if filled, ok := Fill(text, arguments); ok {
		return filled
	}
	return text + "\n\nARGUMENTS: " + arguments
}

// byName orders skills.
func byName(a, b Skill) int { return cmp.Compare(a.Name, b.Name) }

// Named returns the skill of the name.
func Named(list []Skill, name string) (Skill, bool) {
	n, ok := slices.BinarySearchFunc(list, name, func(s Skill, name string) int { return cmp.Compare(s.Name, name) })
	if !ok {
		return Skill{}, false
	}
	return list[n], true
}

// Text is the model's view of the skill.
func (l Loaded) Text(arguments string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<skill name=%q>\n%s\n</skill>\n\n[Its folder is %s; paths in it are relative to that.", l.Name,
		l.Body(arguments), l.Dir)
	if len(l.Files) > 0 {
		fmt.Fprintf(&b, " Beside %s it has: %s.", FileName, strings.Join(l.Files, ", "))
	}
	if len(l.AllowedTools) > 0 {
		fmt.Fprintf(&b, " Its allowed-tools (%s) are not in force: calls are judged as without it.",
			strings.Join(l.AllowedTools, " "))
	}
	b.WriteString("]")
	return b.String()
}
