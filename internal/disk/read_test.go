package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	data, size, err := disk.Read(path, 4)
	if string(data) != "0123" || size != 10 || err != nil {
		t.Errorf("Read = %q, %d, %v", data, size, err)
	}
	if _, _, err := disk.Read(dir, 4); err == nil || !strings.Contains(err.Error(), "a directory") {
		t.Errorf("of a directory: %v", err)
	}
	if _, _, err := disk.Read(filepath.Join(dir, "missing"), 4); !os.IsNotExist(err) {
		t.Errorf("of a missing file: %v", err)
	}
}
