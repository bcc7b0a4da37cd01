package shell

import (
	"slices"
	"strings"
)

// Environment splits an environment into what commands get and the names of
// what they do not: variables that are secret, unless pass lists them.
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
