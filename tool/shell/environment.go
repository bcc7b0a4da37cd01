package shell

import (
	"slices"
	"strings"
)

// Environment splits an environment into what commands get and the names of
// what they do not: variables that secret names, unless pass lists them.
func Environment(environ []string, secret func(name string) bool, pass []string) (env, withheld []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if name != "" && secret(name) && !slices.Contains(pass, name) {
			withheld = append(withheld, name)
			continue
		}
		env = append(env, entry)
	}
	slices.Sort(withheld)
	return env, withheld
}
