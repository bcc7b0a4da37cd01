//go:build !linux

package policy

import (
	"errors"
	"os"
	"time"
)

// stamp detects changes of a folder. Where processes can set the times of a folder,
// listings are not cached: all stamps are zero.
type stamp struct{}

func stampOf(path string) (stamp, time.Duration, error) {
	_, err := os.Lstat(path)
	return stamp{}, 0, err
}

// sameFolder cannot tell folders apart here.
func (stamp) sameFolder(stamp) bool { return true }

// identity of files is not known here.
type identity struct{ folder bool }

func (identity) record() secretRecord { return secretRecord{} }

func identityFrom(secretRecord) identity { return identity{} }

var errNoIdentity = errors.New("files have no identity on this system")

func identityOfFile(*os.File) (identity, error) { return identity{}, errNoIdentity }

func identityOf(string) (identity, error) { return identity{}, errNoIdentity }
