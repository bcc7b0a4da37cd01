package shell

import (
	"slices"
	"strings"
)

// Environment splits an environment into the variables of commands and the names of
// withheld variables: secrets that pass does not list. If no variable is withheld, env is environ itself,
// which sessions share.
func Environment(environ []string, secret func(name, value string) bool, pass []string) (env, withheld []string) {
	isWithheld := func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name != "" && secret(name, value) && !slices.Contains(pass, name)
	}
	if !slices.ContainsFunc(environ, isWithheld) {
		return slices.Clip(environ), nil
	}
	for _, entry := range environ {
		if isWithheld(entry) {
			name, _, _ := strings.Cut(entry, "=")
			withheld = append(withheld, name)
		} else {
			env = append(env, entry)
		}
	}
	slices.Sort(withheld)
	return env, withheld
}
