package shell

import (
	"slices"
	"strings"
)

// Environment splits an environment into the variables of commands and the names of
// withheld variables: secrets that pass does not list.
func Environment(environ []string, secret func(name, value string) bool, pass []string) (env, withheld []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if name != "" && secret(name, value) && !slices.Contains(pass, name) {
			withheld = append(withheld, name)
			continue
		}
		env = append(env, entry)
	}
	slices.Sort(withheld)
	return env, withheld
}
