//go:build !unix

package setsid

import "errors"

func become([]string) error { return errors.ErrUnsupported }
