package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// maxExports bounds the numbers that are tried for the name of an export.
const maxExports = 1000

// export writes the transcript to a new file: the named one, or one with settle's name in the named
// directory.
func (u *UI) export(name string) {
	file, err := createExport(name, u.state().Host.Dir, "settle-"+u.view.conversation.ID())
	if err == nil {
		_, err = file.WriteString(u.wholeText())
		if closed := file.Close(); err == nil {
			err = closed
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		u.showHint("cannot export to %q: the file exists; name another file or a directory", name)
	case err != nil:
		u.showHint("cannot export: %v", err)
	default:
		u.showHint("wrote %s", file.Name())
	}
}

// wholeText is the transcript as text.
func (u *UI) wholeText() string {
	var b strings.Builder
	for _, part := range transcriptSheet(u.view.printout.renderer, u.state()) {
		for _, row := range part(100) {
			b.WriteString(strings.TrimRight(row.Text(), " ") + "\n")
		}
	}
	return b.String()
}

// createExport creates the file of an export. name is relative to dir and can begin with "~/". Without
// a name, and in a directory, the file has the title, and a number if there is such a file.
func createExport(name, dir, title string) (*os.File, error) {
	home, _ := os.UserHomeDir() // without one, "~" is a name like others
	name = disk.AbsoluteIn(dir, disk.ExpandHome(name, home))
	create := func(path string) (*os.File, error) {
		return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if i, err := os.Stat(name); err != nil || !i.IsDir() {
		return create(name)
	}
	file, err := create(filepath.Join(name, title+".txt"))
	for n := 2; errors.Is(err, fs.ErrExist) && n <= maxExports; n++ {
		file, err = create(filepath.Join(name, fmt.Sprintf("%s-%d.txt", title, n)))
	}
	return file, err
}
