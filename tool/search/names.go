package search

import (
	"context"

	"github.com/settle-agent/settle/internal/disk"
)

// Names returns at most so many files below root that are not ignored, relative to root
// with slashes, in the order of a walk. It returns the files so far when ctx ends.
func Names(ctx context.Context, root string, limit int) (names []string) {
	at, err := disk.Locate(root, ".", nil)
	if err != nil {
		return nil
	}
	_ = walk(ctx, at, func(e entry) error { // an error keeps the files so far
		if len(names) >= limit {
			return errEnough
		}
		if !e.IsDir() {
			names = append(names, e.rel)
		}
		return nil
	})
	return names
}
