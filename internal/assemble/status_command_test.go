//go:build unix

package assemble

import (
	"strings"
	"testing"
	"time"
)

func TestStatusCommandRunsBoundedWithoutKeys(t *testing.T) {
	environ := []string{"PATH=/usr/bin:/bin", "OPENAI_API_KEY=a-key-of-a-provider"}
	for name, c := range map[string]struct {
		script, out, err string
		limit            time.Duration
	}{
		"output":   {`read line; echo "got $line$OPENAI_API_KEY"`, "got {}", "", time.Minute},
		"failure":  {`echo why >&2; exit 3`, "", `"/bin/sh" ended with code 3: why`, time.Minute},
		"too long": {`sleep 600 & sleep 600`, "", `"/bin/sh" took longer than 20 ms`, 20 * time.Millisecond},
	} {
		out, err := statusCommand([]string{"/bin/sh", "-c", c.script}, environ, c.limit)(t.Context(), []byte("{}\n"))
		if strings.TrimSpace(out) != c.out || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if StatusCommand(nil, environ) != nil {
		t.Error("no command is a command")
	}
}
