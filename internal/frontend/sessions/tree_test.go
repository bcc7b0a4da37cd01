package sessions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/catalogue"
)

// Child agents follow their parents, in the order in which they started; a log
// that names itself or a circle of parents hides nothing for ever.
func TestTree(t *testing.T) {
	at := time.Unix(0, 0)
	entry := func(id, parent string) catalogue.Entry {
		at = at.Add(-time.Second)
		return catalogue.Entry{Session: id, Parent: parent, Created: at}
	}
	list := []catalogue.Entry{
		entry("new", ""), entry("b2", "b"), entry("b1", "b"), entry("b", ""), entry("deep", "b1"),
		entry("self", "self"), entry("lost", "gone"),
	}
	var got []string
	for _, b := range tree(list) {
		got = append(got, strings.TrimSpace(fmt.Sprint(b.mark(), b.Session)))
	}
	want := []string{"new", "b", "└ b1", "└ deep", "└ b2", "└ self", "└ lost"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
