package transport

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
)

const (
	// maxErrorBody bounds the part of an error response that is read, in bytes.
	maxErrorBody = 4 << 10
	// errorBodyTimeout bounds the time of reading this part; bytes that arrived before are kept.
	errorBodyTimeout = 5 * time.Second
)

// statusError returns the error of an answer whose status is not 200.
func (e *Endpoint) statusError(ctx context.Context, u *url.URL, resp *http.Response) error {
	body := readStart(ctx, resp.Body)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d := ParseDetail([]byte(body))
	fault := model.NewError(statusKind(resp.StatusCode, u.Path, d), "%s", d.Message)
	if d.Message == "" {
		fault.Message = http.StatusText(resp.StatusCode)
	}
	fault.Err = nil
	fault.Status, fault.Code, fault.URL, fault.Body = resp.StatusCode, d.code(), publicURL(u), body
	fault.RetryAfter = retryAfter(resp.Header, d, e.Now)
	fault.Kind = shouldRetry(fault.Kind, resp.Header.Get("X-Should-Retry"))
	fault.Hint = e.hint(fault, resp.Header.Get("Location"))
	return fault
}

func (e *Endpoint) hint(fault *model.Error, location string) string {
	switch {
	case fault.Kind == model.ErrAuth:
		return e.AuthHint
	case fault.Kind == model.ErrNotFound:
		return e.notFoundHint(fault)
	case fault.Status >= 300 && fault.Status < 400:
		if u, err := url.Parse(location); err == nil && u.Host != "" {
			return "the server redirects to " + publicURL(
				u,
			) + ", and keys are not sent to other hosts: if that is right, make it the base URL"
		}
		return "check the base URL"
	}
	return ""
}

// notFoundHint returns advice after a 404. If the base URL lacks the version, or has the path of a
// request, the advice contains the corrected URL.
func (e *Endpoint) notFoundHint(fault *model.Error) string {
	base := strings.TrimRight(e.BaseURL, "/")
	for _, path := range []string{"/chat/completions", "/responses", "/messages", "/completions"} {
		if shorter, ok := strings.CutSuffix(base, path); ok {
			return "the base URL has the path of a request: use " + redacted(shorter)
		}
	}
	if strings.Contains(strings.ToLower(fault.Message+fault.Code), "model") || strings.Contains(fault.URL, "/v1") {
		return "check the name of the model and the base URL"
	}
	return "the base URL has no version: try " + redacted(base) + "/v1, or check the name of the model"
}

// redacted returns a base URL without its password and query.
func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "it"
	}
	return publicURL(u)
}

// statusKind chooses the kind by the provider's message, then by the status.
func statusKind(status int, path string, d Detail) model.ErrorKind {
	if kind, ok := d.Kind(status); ok {
		return kind
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return model.ErrAuth
	case status == http.StatusPaymentRequired:
		return model.ErrQuota
	case status == http.StatusNotFound:
		return model.ErrNotFound
	case status == http.StatusRequestTimeout:
		return model.ErrTimeout
	case status == http.StatusConflict && !strings.Contains(path, "/v1/rollouts/"):
		return model.ErrConflict
	case status == http.StatusRequestEntityTooLarge:
		return model.ErrContext
	case status == http.StatusTooEarly:
		return model.ErrTooEarly
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimit
	case status == http.StatusServiceUnavailable, status == statusOverloaded:
		return model.ErrOverloaded
	case status >= 500:
		return model.ErrServer
	}
	return model.ErrInvalid
}

// statusOverloaded is Anthropic's status for an overloaded API.
const statusOverloaded = 529

// shouldRetry applies x-should-retry, by which OpenAI and Anthropic overrule the meaning
// of a status. It does not change errors that waiting cannot fix.
func shouldRetry(kind model.ErrorKind, header string) model.ErrorKind {
	probe := model.Error{Kind: kind}
	switch {
	case header == "true" && (kind == model.ErrInvalid || kind == model.ErrNotFound):
		return model.ErrServer
	case header == "false" && kind == model.ErrRateLimit:
		return model.ErrQuota
	case header == "false" && probe.Retryable():
		return model.ErrInvalid
	}
	return kind
}

// readStart reads the beginning of an error answer, within bounds of size and
// time.
func readStart(ctx context.Context, body io.ReadCloser) string {
	ctx, cancel := context.WithTimeout(ctx, errorBodyTimeout)
	defer cancel()
	// Closing the body unblocks a pending read.
	stop := context.AfterFunc(ctx, func() { body.Close() })
	defer stop()
	start, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // after an error, start is the part that arrived
	return strings.ToValidUTF8(string(start), "\uFFFD")
}
