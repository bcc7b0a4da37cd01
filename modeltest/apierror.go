package modeltest

import (
	"fmt"
	"net/http"
)

// apiError is an error in a provider's format.
type apiError struct {
	Status                     int
	Type, Code, Param, Message string
	RetryAfter                 RetryAfter
	Header                     map[string]string
}

// invalid returns the error of a refused request, in the words of the provider.
func invalid(format string, args ...any) *apiError {
	return &apiError{
		Status:  http.StatusBadRequest,
		Type:    "invalid_request_error",
		Message: fmt.Sprintf(format, args...),
	}
}

// at returns the error with the name of the parameter that is wrong and a code.
func (e *apiError) at(param, code string) *apiError {
	e.Param, e.Code = param, code
	return e
}

// body returns the error in the wire format of the dialect.
func (e *apiError) body(d Dialect, request int) []byte {
	if d == Messages {
		return encode(object{
			"type": "error", "error": object{"type": e.Type, "message": e.Message},
			"request_id": fmt.Sprintf("req_%06d", request),
		})
	}
	if d == Gemini {
		return geminiError(e.Status, "", e.Message)
	}
	return encode(object{"error": object{
		"message": e.Message, "type": e.Type, "param": orNull(e.Param), "code": orNull(e.Code),
	}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// usual returns the default error of the dialect's providers for the status.
func usual(d Dialect, status int) apiError {
	table := openAIErrors
	switch d {
	case Messages:
		table = anthropicErrors
	case Gemini:
		table = geminiErrors
	}
	for _, e := range table() {
		if e.Status == status {
			return e
		}
	}
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
		if d == Messages {
			kind = "api_error"
		}
	}
	return apiError{Status: status, Type: kind, Message: http.StatusText(status)}
}

// openAIErrors are the answers of https://platform.openai.com/docs/guides/error-codes.
func openAIErrors() []apiError {
	return []apiError{
		{Status: 400, Type: "invalid_request_error", Message: "Invalid request."},
		{
			Status:  401,
			Type:    "invalid_request_error",
			Code:    "invalid_api_key",
			Message: "Incorrect API key provided: sk-fake. You can find your API key at https://platform.openai.com/account/api-keys.",
		},
		{Status: 402, Type: "insufficient_quota", Code: "insufficient_quota", Message: "Insufficient credits."},
		{
			Status:  403,
			Type:    "invalid_request_error",
			Code:    "unsupported_country_region_territory",
			Message: "Country, region, or territory not supported",
		},
		{
			Status:  404,
			Type:    "invalid_request_error",
			Code:    "model_not_found",
			Message: "The model does not exist or you do not have access to it.",
		},
		{Status: 408, Type: "invalid_request_error", Message: "Request timed out."},
		{Status: 409, Type: "invalid_request_error", Message: "The resource was updated by another request."},
		{Status: 413, Type: "invalid_request_error", Message: "Request too large."},
		{Status: 425, Type: "invalid_request_error", Message: "Too early."},
		{Status: 429, Type: "requests", Code: "rate_limit_exceeded", Message: "Rate limit reached for requests."},
		{
			Status:  500,
			Type:    "server_error",
			Message: "The server had an error while processing your request. Sorry about that!",
		},
		{Status: 502, Type: "server_error", Message: "Bad gateway."},
		{Status: 503, Type: "server_error", Message: "The engine is currently overloaded, please try again later."},
		{Status: 504, Type: "server_error", Message: "Gateway timeout."},
		{Status: 529, Type: "server_error", Message: "Overloaded"},
	}
}

// anthropicErrors are the answers of https://docs.claude.com/en/api/errors.
func anthropicErrors() []apiError {
	return []apiError{
		{Status: 400, Type: "invalid_request_error", Message: "Invalid request."},
		{Status: 401, Type: "authentication_error", Message: "invalid x-api-key"},
		{
			Status:  402,
			Type:    "billing_error",
			Message: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
		},
		{
			Status:  403,
			Type:    "permission_error",
			Message: "Your API key does not have permission to use the specified resource.",
		},
		{Status: 404, Type: "not_found_error", Message: "Not found"},
		{Status: 408, Type: "timeout_error", Message: "Request timed out."},
		{Status: 413, Type: "request_too_large", Message: "Request exceeds the maximum size"},
		{Status: 429, Type: "rate_limit_error", Message: "This request would exceed your organization's rate limit."},
		{Status: 500, Type: "api_error", Message: "Internal server error"},
		{Status: 503, Type: "overloaded_error", Message: "Overloaded"},
		{Status: 504, Type: "timeout_error", Message: "Request timed out."},
		{Status: 529, Type: "overloaded_error", Message: "Overloaded"},
	}
}

// failure is the error answer that a fault asks for.
func (f Fault) failure(d Dialect) *apiError {
	e := usual(d, f.Status)
	e.RetryAfter, e.Header = f.RetryAfter, f.Header
	if f.Type != "" {
		e.Type = f.Type
	}
	if f.Code != "" {
		e.Code = f.Code
		if d == Messages {
			e.Type = f.Code // Messages has no codes
		}
	}
	if f.Message != "" {
		e.Message = f.Message
	}
	return &e
}

// event is the error event that a fault asks for, as a frame.
func (f Fault) event(d Dialect, sequence int) frame {
	kind, message := f.Type, f.Message
	switch d {
	case Messages:
		if kind == "" {
			kind = "overloaded_error"
		}
		if message == "" {
			message = "Overloaded"
		}
		return frame{
			event: "error",
			data:  encode(object{"type": "error", "error": object{"type": kind, "message": message}}),
		}
	case Gemini:
		if message == "" {
			message = "The model is overloaded. Please try again later."
		}
		return frame{data: geminiError(503, kind, message)}
	case Chat:
		if kind == "" {
			kind = "server_error"
		}
		if message == "" {
			message = "The server had an error while processing your request. Sorry about that!"
		}
		return frame{
			data: encode(
				object{"error": object{"message": message, "type": kind, "param": nil, "code": orNull(f.Code)}},
			),
		}
	}
	if kind == "" {
		kind = "server_error"
	}
	if message == "" {
		message = "The server had an error while processing your request. Sorry about that!"
	}
	return frame{event: "error", data: encode(object{
		"type": "error", "code": kind, "message": message, "param": nil, "sequence_number": sequence,
	})}
}
