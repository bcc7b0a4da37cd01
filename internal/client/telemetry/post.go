package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/settle-agent/settle/model/transport"
)

const (
	retryDelay = time.Second
	maxDelay   = 10 * time.Second
	maxAnswer  = 64 << 10
)

// send sends a request, again and again while its endpoint says so and there is time.
func (x *Exporter) send(ctx context.Context, to *Endpoint, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, to.Timeout)
	defer cancel()
	if to.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body) // a Buffer takes all
		_ = z.Close()
		body = b.Bytes()
	}
	for delay := retryDelay; ; delay = min(2*delay, maxDelay) {
		wait, err := x.post(ctx, to, body)
		if err == nil || wait < 0 {
			return err
		}
		wait = max(wait, delay)
		if until, ok := ctx.Deadline(); ok && time.Until(until) <= wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post makes one request. If it fails, wait is how long to wait before another one, and
// negative if another one is of no use.
func (x *Exporter) post(ctx context.Context, to *Endpoint, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, value := range to.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "settle/"+x.source.Version)
	if to.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := x.client.Do(req)
	if err != nil {
		var outer *url.Error // it repeats the URL, which may contain secrets
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // its answer was read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return -1, rejected(answer)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return max(transport.RetryAfter(resp.Header, time.Now), 0), errors.New(resp.Status)
	}
	if at, failed := resp.Location(); failed == nil && resp.StatusCode/100 == 3 {
		return -1, fmt.Errorf(
			"%s: the redirect to %s is not followed; check the endpoint", resp.Status, masked(at.String()),
		)
	}
	return -1, errors.Join(errors.New(resp.Status), err)
}

// rejected returns the error of a response whose partial_success names rejected items. A response
// that cannot be read is no error: its status means that the request was accepted.
func rejected(answer []byte) error {
	partial, _ := fields(answer)[1].([]byte)
	parts := fields(partial)
	number, _ := parts[1].(uint64)
	text, _ := parts[2].([]byte)
	if number == 0 {
		return nil
	}
	return fmt.Errorf("%d were rejected: %s", number, text)
}

// fields returns the numbers and the byte strings of a protobuf message, as far as it is
// one. The messages of answers are in a package that links gRPC.
func fields(m []byte) map[protowire.Number]any {
	all := map[protowire.Number]any{}
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			break
		}
		m = m[n:]
		switch kind {
		case protowire.VarintType:
			all[field], n = protowire.ConsumeVarint(m)
		case protowire.BytesType:
			all[field], n = protowire.ConsumeBytes(m)
		default:
			n = protowire.ConsumeFieldValue(field, kind, m)
		}
		if n < 0 {
			break
		}
		m = m[n:]
	}
	return all
}
