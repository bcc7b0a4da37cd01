package hooks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// patch returns the arguments of a patch with the lines.
func patch(lines ...string) string {
	raw, _ := json.Marshal(map[string]string{
		"input": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n",
	})
	return string(raw)
}

// A hook receives each path of a patch that the tool reads, however the header is written.
func TestHooksReceiveEveryFileOfPatch(t *testing.T) {
	const change = "@@\n-a\n+b"
	for _, c := range []struct {
		matcher, patch string
		want           []string
	}{
		{"Edit|Write", patch("*** Update File:.env", change), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Update File:\t.env", change), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Delete File:.env"), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Add File:.env", "+a"), []string{"Write /work/.env"}},
		{"MultiEdit", patch("*** Update File: .env", change), []string{"MultiEdit /work/.env"}},
		{"Edit", patch("*** Update File: a", "*** Move to:.env"), []string{"Edit /work/.env", "Edit /work/a"}},
		{"Write", patch("*** Update File: a", "*** Move to:/x/.env"), []string{"Write /x/.env"}},
		{
			"Write|Edit", patch("*** Delete File: .env", "*** Add File: .env", "+a"),
			[]string{"Edit /work/.env", "Write /work/.env"},
		},
		{"MultiEdit", patch("*** Update File: .env"), []string{"MultiEdit <nil>"}},
		{"Write", `{"input":7}`, []string{"Write <nil>"}},
		{"apply_patch", "no JSON", []string{"apply_patch <nil>"}},
		{"Bash", patch("*** Update File: .env"), nil},
	} {
		b := newBench(t, before(c.matcher, "guard"))
		if _, err := b.set.Before(t.Context(), call("apply_patch", c.patch)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range b.runner.told {
			input, _ := in["tool_input"].(map[string]any)
			got = append(got, fmt.Sprintf("%v %v", in["tool_name"], input["file_path"]))
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%q received of %s: %q, want %q", c.matcher, c.patch, got, c.want)
		}
	}
}
