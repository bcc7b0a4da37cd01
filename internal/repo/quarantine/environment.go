package quarantine

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// inline marks a configuration that is a text instead of the path of a file: no path has
// this character.
const inline = "\x00"

// readConfig returns the variables of a configuration, and the folder that its relative
// paths begin in.
func readConfig(config string) (list []variable, dir string) {
	if text, ok := strings.CutPrefix(config, inline); ok {
		return lenient(text), "."
	}
	data, _, err := disk.Read(config, maxFile)
	if err != nil {
		return nil, "."
	}
	return lenient(string(data)), filepath.Dir(config)
}

// Given returns the git configurations in the variables GIT_CONFIG_COUNT and GIT_CONFIG_PARAMETERS
// of an environment. They stand among the paths of configurations.
func Given(env []string) (configs []string) {
	values := map[string]string{}
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GIT_CONFIG_") {
			values[name] = value
		}
	}
	var text strings.Builder
	count, _ := strconv.Atoi(values["GIT_CONFIG_COUNT"]) // git refuses a value that is not a number
	for n := range min(count, maxGiven) {
		suffix := strconv.Itoa(n)
		text.WriteString(given(values["GIT_CONFIG_KEY_"+suffix], values["GIT_CONFIG_VALUE_"+suffix]))
	}
	for rest := values["GIT_CONFIG_PARAMETERS"]; rest != ""; {
		var key, value string
		if key, rest = shellQuoted(rest); rest != "" && rest[0] == '=' {
			value, rest = shellQuoted(rest[1:])
		} else {
			key, value, _ = strings.Cut(key, "=")
		}
		text.WriteString(given(key, value))
	}
	if text.Len() == 0 {
		return nil
	}
	return []string{inline + text.String()}
}

// maxGiven bounds the variables of an environment.
const maxGiven = 1000

// shellQuoted returns the first word of git's form of quoted words, and the rest. It ends at
// a form that git does not write.
func shellQuoted(text string) (word, rest string) {
	text = strings.TrimLeft(text, " ")
	for strings.HasPrefix(text, "'") {
		part, after, closed := strings.Cut(text[1:], "'")
		if word += part; !closed {
			return word, ""
		}
		if len(after) > 1 && after[0] == '\\' && (after[1] == '\'' || after[1] == '!') {
			word += after[1:2]
			after = after[2:]
		} else if !strings.HasPrefix(after, "'") {
			return word, after
		}
		text = after
	}
	return word, ""
}

// given writes a variable as the text of a configuration.
func given(name, value string) string {
	section, key := name, ""
	if last := strings.LastIndexByte(name, '.'); last >= 0 {
		section, key = name[:last], name[last+1:]
	}
	section, sub, _ := strings.Cut(section, ".")
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	head := "[" + section + "]"
	if sub != "" {
		head = "[" + section + ` "` + escape.Replace(sub) + `"]`
	}
	return head + "\n" + key + ` = "` + escape.Replace(value) + "\"\n"
}
