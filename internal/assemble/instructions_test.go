package assemble

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

func TestPlacesOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "web", "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		arguments, detail string
		want              []string
	}{
		"a file":          {`{"path":"web/x.go"}`, "", []string{"web/x.go"}},
		"an absolute one": {`{"path":"` + filepath.ToSlash(dir) + `/web"}`, "", []string{"web"}},
		"what was changed": {
			`{"input":"*** Begin Patch"}`, `{"files":[{"path":"web/a"},{"path":"b"}]}`,
			[]string{"web/a", "b"},
		},
		"what was read":      {`{}`, `{"read":{"path":"web/a"}}`, []string{"web/a"}},
		"where a command is": {`{"command":"ls","workdir":"web"}`, "", []string{"web"}},
		"what a command names": {
			`{"command":"go test ./web/... && cat nothing -web 'web/src/'"}`, "",
			[]string{"web", "web/src"},
		},
		"where it goes":   {`{"command":"cd web && ls src | wc"}`, "", []string{"web", "web/src"}},
		"out and about":   {`{"command":"cat ../x /etc/passwd ~ . .."}`, "", []string{"/etc/passwd"}},
		"nothing":         {`{"command":""}`, `{"skill":{}}`, nil},
		"what is no JSON": {`{"path":`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := event.Content{Arguments: tt.arguments}
			if tt.detail != "" {
				c.Detail = []byte(tt.detail)
			}
			var want []string
			for _, w := range tt.want {
				want = append(want, disk.AbsoluteIn(dir, w))
			}
			if diff := cmp.Diff(want, placesOf(dir, c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
