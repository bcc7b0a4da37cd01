//go:build !linux

package journal

import "errors"

// Allocate implements [File].
func (diskFile) Allocate(_, _ int64) error { return errors.ErrUnsupported }
