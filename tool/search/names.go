package search

import (
	"context"

	"github.com/settle-agent/settle/internal/disk"
)

// Names returns the files below root that are not ignored, with slashes, from
// root, in the order of a walk: at most so many, and what was found when ctx ends.
func Names(ctx context.Context, root string, most int) (names []string) {
	at, err := disk.Locate(root, ".", nil)
	if err != nil {
		return nil
	}
	_ = walk(ctx, at, func(e entry) error { // what was found until an error is what was found
		if len(names) >= most {
			return errEnough
		}
		if !e.IsDir() {
			names = append(names, e.rel)
		}
		return nil
	})
	return names
}
