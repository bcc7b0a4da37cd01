package proc

import "errors"

// ErrParent reports that the process that started settle has ended.
var ErrParent = errors.New("the process that started settle is gone")
