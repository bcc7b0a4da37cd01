package execserver

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

const (
	// maxHandles bounds the number of open files of a connection, handleBytes the length of the id
	// of one, and maxBlock the part that is read at once, in bytes.
	maxHandles  = 256
	handleBytes = 32
	maxBlock    = 16 << 20
)

// handles are the files that a client reads in parts.
type handles struct {
	mu   sync.Mutex
	open map[string]*os.File
}

func (h *handles) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.open {
		_ = f.Close() // it was only read
	}
	h.open = nil
}

type handle struct {
	ID *string `json:"handleId"`
}

func (h handle) check() error {
	switch {
	case h.ID == nil:
		return invalidParams("missing field `handleId`")
	case len(*h.ID) > handleBytes:
		return invalidRequest("file read handle ID must not exceed %d bytes", handleBytes)
	}
	return nil
}

type openParams struct {
	handle
	fileParams
}

func (c *conn) openFile(_ context.Context, params openParams) (any, error) {
	if err := params.check(); err != nil {
		return nil, err
	}
	t, err := c.target(params.Path, "path", params.Sandbox, readable)
	if err != nil {
		return nil, err
	}
	f, err := t.read()
	if err != nil {
		return nil, err
	}
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	_, used := c.files.open[*params.ID]
	switch {
	case used:
		err = invalidRequest("file handle `%s` is already open", *params.ID)
	case len(c.files.open) >= maxHandles:
		err = invalidRequest("%d files are open already; close some", maxHandles)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if c.files.open == nil {
		c.files.open = map[string]*os.File{}
	}
	c.files.open[*params.ID] = f
	return params.handle, nil
}

type blockParams struct {
	handle

	Offset *int64 `json:"offset"`
	Len    *int   `json:"len"`
}

type block struct {
	Chunk []byte `json:"chunk"`
	EOF   bool   `json:"eof"`
}

func (c *conn) readBlock(_ context.Context, params blockParams) (any, error) {
	if err := params.check(); err != nil {
		return nil, err
	}
	if params.Offset == nil || params.Len == nil || *params.Offset < 0 || *params.Len < 0 || *params.Len > maxBlock {
		return nil, invalidParams("fs/readBlock needs an `offset`, and a `len` of at most %d", maxBlock)
	}
	c.files.mu.Lock()
	f := c.files.open[*params.ID]
	c.files.mu.Unlock()
	if f == nil {
		return nil, jsonrpc.Errorf(codeNotFound, "unknown file handle `%s`", *params.ID)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, max(0, min(int64(*params.Len), info.Size()-*params.Offset)))
	n, err := f.ReadAt(data, *params.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return block{data[:n], n < *params.Len}, nil
}

func (c *conn) closeFile(_ context.Context, params handle) (any, error) {
	if err := params.check(); err != nil {
		return nil, err
	}
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	if f := c.files.open[*params.ID]; f != nil {
		_ = f.Close() // it was only read
		delete(c.files.open, *params.ID)
	}
	return struct{}{}, nil
}
