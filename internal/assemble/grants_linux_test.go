package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
)

// A command replaces a folder that the sandbox grants and that commands can write by a link
// out of the working directory. The next command gains no access.
func TestGrantsDoNotFollowLinksThatCommandsMade(t *testing.T) {
	if !confines(t) {
		return
	}
	for name, tt := range map[string]struct{ granted, file string }{
		"a folder on PATH":         {granted: ".venv/bin"},
		"above a folder on PATH":   {granted: ".venv/bin/deeper"},
		"the folder of a skill":    {granted: ".agents/skills/x"},
		"a folder that is read":    {granted: "data", file: "[sandbox]\nread = ['data']\n"},
		"a folder that is written": {granted: "data", file: "[sandbox]\nwrite = ['data']\n"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := strings.TrimSuffix(tt.granted, "/deeper")
			swap := "mv " + folder + " moved && ln -s ~/.ssh " + folder + " && mkdir -p moved2 && echo swapped"
			if folder != tt.granted { // its parent leads to the folder of "deeper"
				swap = "mv " + folder + " moved && ln -s ~/secrets " + folder + " && echo swapped"
			}
			a := inSandbox(t, settle.Ask, tt.file, func(o *Options) {
				for path, text := range map[string]string{
					folder + "/SKILL.md": "---\nname: x\ndescription: y\n---\nDo it.\n", folder + "/deeper/tool": "", "../secrets/deeper/key": "hidden",
				} {
					path = filepath.Join(o.Dir, path)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				env := []string{
					"HOME=" + filepath.Dir(o.Dir),
					"PATH=" + os.Getenv("PATH") + ":" + filepath.Join(o.Dir, tt.granted),
				}
				o.Environ, o.Getenv = env, func(name string) string { return variable(env, name) }
			}, commands(swap, "cat ~/.ssh/id_rsa ~/secrets/deeper/key; echo x >~/.ssh/new && echo written"))
			calls := outputs(t, a)
			got := calls[0].Content().Output
			if strings.HasPrefix(folder, ".agents") && strings.Contains(got, "Read-only") {
				return // a protected folder, which no command can exchange
			}
			if !strings.Contains(got, "swapped") {
				t.Fatalf("the exchange: %q", got)
			}
			if got := calls[1].Content().Output; strings.Contains(got, "hidden") || strings.Contains(got, "written") {
				t.Errorf("the next command: %q", got)
			}
		})
	}
}
