//go:build linux && machine

package quarantine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A script that git runs by a filter is known before it exists, however the filter's command names it.
func TestAbsentScriptsOfFiltersAreKnown(t *testing.T) {
	for command, script := range map[string]string{
		"bash tools/clean.sh":                                    "tools/clean.sh",
		"bash -euo pipefail tools/clean.sh":                      "tools/clean.sh",
		"bash -euo pipefail -c tools/clean.sh":                   "tools/clean.sh",
		"bash -O extglob -eo pipefail -c 'cd tools; ./clean.sh'": "tools/clean.sh",
		"(cd tools && true); ./top.sh":                           "top.sh",
		"cd tools & ./top.sh":                                    "top.sh",
		"cd missing 2>/dev/null; ./top.sh":                       "top.sh",
		"cd missing 2>/dev/null || sh top.sh":                    "top.sh",
		"cd tools | ./top.sh":                                    "top.sh",
		"env -C tools true && ./top.sh":                          "top.sh",
		"eval 'cd tools' && ./clean.sh":                          "tools/clean.sh",
		"bash <tools/clean.sh":                                   "tools/clean.sh",
		"bash -s x <tools/clean.sh":                              "tools/clean.sh",
		"cat tools/clean.sh | sh":                                "tools/clean.sh",
		"cat <tools/clean.sh | sh -e":                            "tools/clean.sh",
		"cat clean | sh":                                         "clean",
		"echo tools/clean.sh | xargs sh":                         "tools/clean.sh",
		"bash -c '. <(cat tools/clean.sh)'":                      "tools/clean.sh",
		"exec <tools/clean.sh; sh":                               "tools/clean.sh",
		"BASH_ENV=tools/clean.sh bash -c true":                   "tools/clean.sh",
		"env BASH_ENV=tools/clean.sh bash -c true":               "tools/clean.sh",
		"bash -c 'bash <<<./top.sh'":                             "top.sh",
		"bash --norc -e -- tools/clean.sh":                       "tools/clean.sh",
		"bash -norc tools/clean.sh":                              "tools/clean.sh",
	} {
		t.Run(command, func(t *testing.T) {
			dir := real(t)
			mustShellIn(t, dir, `git init -q n; cd n; mkdir tools; echo '* filter=fmt' >.gitattributes; echo x >f`)
			files(t, dir, map[string]string{"command": command})
			mustShellIn(t, dir, `git config --global filter.fmt.clean "$(cat command)"`)
			top := filepath.Join(dir, "n")
			places := Places{Folders: []string{top}}
			absent := Obeyed([]string{filepath.Join(dir, ".gitconfig")}, top, dir, places).Absent
			mustShellIn(t, top, `printf '#!/bin/sh\ntouch "$HOME/planted"\n' >`+script+` && chmod +x `+script)
			out, err := shellIn(t, top, `export HOME="$(cd .. && pwd)"; git add f`)
			if _, failed := os.Stat(filepath.Join(dir, "planted")); failed != nil {
				t.Fatalf("git itself does not run it: %v, %s", err, out)
			}
			if !slices.Contains(absent, filepath.Join(top, script)) {
				t.Errorf("known: %q", absent)
			}
		})
	}
}
