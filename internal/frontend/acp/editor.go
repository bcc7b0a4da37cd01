package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/file"
)

// editor makes the session's file tools read and change files through the client, with
// their unsaved content. A client that can only read is not used: its content could differ
// from the file on the disk that a tool would change.
func (ses *session) editor() *file.Editor {
	if !ses.can.FS.ReadTextFile || !ses.can.FS.WriteTextFile {
		return nil
	}
	return &file.Editor{Read: ses.readFile, Write: ses.writeFile}
}

func (ses *session) readFile(ctx context.Context, path string) (string, error) {
	var got struct {
		Content string `json:"content"`
	}
	err := ses.request(ctx, "fs/read_text_file", object{"sessionId": ses.id, "path": path}, &got)
	if refused := (*jsonrpc.Error)(nil); errors.As(err, &refused) &&
		(refused.Code == codeNotFound || refused.Code == jsonrpc.CodeMethodNotFound) {
		return "", fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return got.Content, err
}

func (ses *session) writeFile(ctx context.Context, path, text string) error {
	return ses.request(ctx, "fs/write_text_file", object{"sessionId": ses.id, "path": path, "content": text}, nil)
}

// request sends a request to the client, and withdraws it if it is no longer needed. If the client
// is gone, the request ends the turn, and the turn ends the call; their endings have the reason.
func (ses *session) request(ctx context.Context, method string, params, result any) error {
	sent, err := ses.Send(ctx, method, params)
	if err != nil {
		return awaitEnd(ctx, err)
	}
	stop := context.AfterFunc(ctx, scope.Shield(ses.Panicked, func() { ses.withdraw(sent) }))
	defer stop()
	return withDetails(awaitEnd(ctx, sent.Wait(context.WithoutCancel(ctx), result)))
}

// awaitEnd waits for the end of ctx if the connection has ended: then Serve ends every turn.
func awaitEnd(ctx context.Context, err error) error {
	if !errors.Is(err, jsonrpc.ErrClosed) {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// withDetails adds the details that many clients send with an error to its message.
func withDetails(err error) error {
	var refused *jsonrpc.Error
	var data struct{ Details string }
	if errors.As(err, &refused) && json.Unmarshal(refused.Data, &data) == nil && data.Details != "" {
		return fmt.Errorf("%w: %s", err, data.Details)
	}
	return err
}

// withdraw notifies the client that the response to a request is no longer needed, unless the
// client has responded. See https://agentclientprotocol.com/protocol/v1/cancellation.
func (s *Server) withdraw(sent *jsonrpc.Outgoing) {
	if sent.Abandon() {
		_ = s.Notify(s.Life, "$/cancel_request", object{"requestId": sent.ID}) // a client that is gone needs none
	}
}
