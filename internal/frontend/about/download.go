package about

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/settle-agent/settle/internal/egress"
)

// download returns the content of an https URL: at most limit bytes, within the
// timeout. It follows redirects to https only.
func download(
	ctx context.Context, client *http.Client, from string, limit int64, timeout time.Duration,
) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("there was no answer within %s", timeout))
	defer cancel()
	shown := redacted(from)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", shown, err)
	}
	if request.URL.Scheme != "https" {
		return nil, fmt.Errorf("cannot ask %s: the address must start with https://", shown)
	}
	response, err := egress.AnyServer(client).Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", shown, caused(ctx, err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", shown, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", shown, caused(ctx, err))
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("cannot read %s: it has more than %d bytes", shown, limit)
	}
	return body, nil
}

// caused returns why the context ended, or err. [http.Client]'s errors repeat the URL.
func caused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// redacted returns a URL without its password, for messages.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	return u.Redacted()
}
