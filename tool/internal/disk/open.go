package disk

import (
	"io/fs"
	"os"

	"github.com/settle-agent/settle/internal/disk"
)

// ErrDirectory says that a path is a directory where a file was wanted.
var ErrDirectory = disk.ErrDirectory

// Open opens the regular file at path for reading ([disk.OpenRegular]).
func Open(path string) (*os.File, fs.FileInfo, error) { return disk.OpenRegular(path) }
