package listing_test

import (
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func TestTable(t *testing.T) {
	var got strings.Builder
	if err := listing.Table(&got, [][]string{{"a", "b", ""}, {"long\tname", "\x1b[31mc", "d"}}); err != nil {
		t.Fatal(err)
	}
	if want := "a          b\nlong name  ␛[31mc  d\n"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var got strings.Builder
	if err := listing.JSON(&got, []map[string]string{{"a": "<\u2028>"}, {}}); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"<\u2028>"}` + "\n{}\n"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}
