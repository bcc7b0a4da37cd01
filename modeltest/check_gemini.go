package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The rules of Gemini's generateContent, in its own words, from public reports:
// github.com/google-gemini/gemini-cli, googleapis/python-genai, langchain-ai/langchain-google,
// vercel/ai and others.

type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction *geminiContent  `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
		GoogleSearch *struct{} `json:"googleSearch"`
	} `json:"tools"`
	ToolConfig *struct {
		FunctionCallingConfig struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		MaxOutputTokens    int             `json:"maxOutputTokens"`
		ResponseMIMEType   string          `json:"responseMimeType"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		ThinkingConfig     *struct {
			IncludeThoughts bool   `json:"includeThoughts"`
			ThinkingLevel   string `json:"thinkingLevel"`
			ThinkingBudget  *int   `json:"thinkingBudget"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text       *string `json:"text"`
	Thought    bool    `json:"thought"`
	InlineData *struct {
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
	} `json:"inlineData"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
	ThoughtSignature string `json:"thoughtSignature"`
}

// geminiInvalid is a refused request.
func geminiInvalid(format string, args ...any) *apiError {
	e := invalid(format, args...)
	e.Type = geminiStatus(e.Status)
	return e
}

func (s *Server) checkGemini(name string, body []byte) *apiError {
	var req geminiRequest
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&req); err != nil {
		return geminiInvalid("Invalid JSON payload received. %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	m, known := s.rules.model(name)
	if !known {
		return &apiError{
			Status: 404,
			Type:   "NOT_FOUND",
			Message: fmt.Sprintf(
				"models/%s is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
				name,
			),
		}
	}
	if n := m.tokens(body); m.Window > 0 && n > m.Window {
		return geminiInvalid(
			"The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, m.Window,
		)
	}
	for _, check := range []func() *apiError{
		func() *apiError { return req.checkConfig(name, m) }, req.checkTools, func() *apiError { return req.checkTogether(name) }, func() *apiError { return s.checkContents(&req) }, req.checkTurns, req.checkAnswers,
		func() *apiError { return s.checkSignatures(&req) },
	} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

func (req *geminiRequest) checkConfig(name string, m Model) *apiError {
	c := req.GenerationConfig
	switch {
	case c.MaxOutputTokens < 0 || m.MaxOutput > 0 && c.MaxOutputTokens > m.MaxOutput:
		return geminiInvalid(
			"Unable to submit request because it has a maxOutputTokens value of %d but the supported range is from 1 (inclusive) to %d (exclusive). Update the value and try again.",
			c.MaxOutputTokens,
			m.MaxOutput+1,
		)
	case c.ThinkingConfig != nil && c.ThinkingConfig.ThinkingBudget != nil && c.ThinkingConfig.ThinkingLevel != "":
		return geminiInvalid("You can only set one of thinking budget and thinking level.")
	case strings.HasPrefix(name, "gemini-2") && c.ResponseMIMEType == "application/json" && len(req.Tools) > 0:
		return geminiInvalid("Function calling with a response mime type: 'application/json' is unsupported")
	case len(c.ResponseJSONSchema) > 0 && c.ResponseMIMEType != "application/json":
		return geminiInvalid("response_json_schema only supports `application/json` mime type.")
	case req.SystemInstruction != nil && len(req.SystemInstruction.Parts) == 0:
		return geminiInvalid("* GenerateContentRequest.system_instruction.parts: must not be empty")
	}
	return nil
}

func (req *geminiRequest) checkTools() *apiError {
	seen := map[string]bool{}
	for i, t := range req.Tools {
		for k, f := range t.FunctionDeclarations {
			at := fmt.Sprintf("* GenerateContentRequest.tools[%d].function_declarations[%d]", i, k)
			switch {
			case !isName(f.Name, "_.:-", 128) || strings.IndexByte("0123456789.:-", f.Name[0]) >= 0:
				return geminiInvalid(
					"%s.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.",
					at,
				)
			case seen[f.Name]:
				return geminiInvalid("Duplicate function declaration found: %s", f.Name)
			case len(f.Parameters) > 0 && len(f.JSONSchema) > 0:
				return geminiInvalid("%s: parameters and parameters_json_schema must not both be set", at)
			case len(f.JSONSchema) > 0 && !isObject(f.JSONSchema):
				return geminiInvalid("%s.parameters_json_schema: must be an object", at)
			}
			seen[f.Name] = true
		}
	}
	return nil
}

// checkContents checks each content by itself.
func (s *Server) checkContents(req *geminiRequest) *apiError {
	if len(req.Contents) == 0 {
		return geminiInvalid("* GenerateContentRequest.contents: contents is not specified")
	}
	for i, c := range req.Contents {
		at := fmt.Sprintf("* GenerateContentRequest.contents[%d]", i)
		if c.Role != "user" && c.Role != "model" {
			return geminiInvalid("Please use a valid role: user, model.")
		}
		if len(c.Parts) == 0 {
			return geminiInvalid("%s.parts: contents.parts must not be empty.", at)
		}
		for k, p := range c.Parts {
			if e := s.checkPart(c.Role, p, fmt.Sprintf("%s.parts[%d]", at, k)); e != nil {
				return e
			}
		}
	}
	return nil
}

func (s *Server) checkPart(role string, p geminiPart, at string) *apiError {
	kinds := 0
	for _, set := range []bool{p.Text != nil, p.InlineData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return geminiInvalid("%s.data: required oneof field 'data' must have one initialized field", at)
	case p.Text != nil && blank(*p.Text) && p.ThoughtSignature == "" && !s.rules.AllowEmptyText: // Vertex
		return geminiInvalid(
			"Unable to submit request because it must have a text parameter. Add a text parameter and try again.",
		)
	case p.InlineData != nil && p.InlineData.MIMEType == "application/pdf":
		if isPDF, _ := readablePDF(p.InlineData.Data); !isPDF {
			return geminiInvalid("The document has no pages.")
		}
	case p.InlineData != nil && (p.InlineData.MIMEType == "" || !readableImage(p.InlineData.Data)):
		return geminiInvalid(
			"Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
		)
	case p.FunctionCall != nil && role != "model":
		return geminiInvalid(
			"Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
		)
	case p.FunctionResponse != nil && role != "user":
		return geminiInvalid("Please ensure that function response turn comes immediately after a function call turn.")
	case p.FunctionCall != nil && p.FunctionCall.Name == "":
		return geminiInvalid("%s.function_call.name: Name cannot be empty.", at)
	case p.FunctionCall != nil && len(p.FunctionCall.Args) > 0 && !isObject(p.FunctionCall.Args):
		return geminiInvalid(
			"Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct)", at,
		)
	case p.FunctionResponse != nil && p.FunctionResponse.Name == "":
		return geminiInvalid("%s.function_response.name: Name cannot be empty.", at)
	case p.FunctionResponse != nil && !isObject(p.FunctionResponse.Response):
		return geminiInvalid(
			"Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct)", at,
		)
	}
	return nil
}

// checkTurns wants roles that alternate, a user first and last.
func (req *geminiRequest) checkTurns() *apiError {
	for i, c := range req.Contents {
		if (i%2 == 0) != (c.Role == "user") {
			return geminiInvalid("Please ensure that multiturn requests alternate between user and model.")
		}
	}
	if len(req.Contents)%2 == 0 {
		return geminiInvalid("Please ensure that multiturn requests end with a user turn or a function response turn.")
	}
	return nil
}

// checkAnswers wants each call answered in the content right after it, in the
// order of the calls, and before anything else there.
func (req *geminiRequest) checkAnswers() *apiError {
	var calls []geminiPart // of the content before
	for _, c := range req.Contents {
		var answers, now []geminiPart
		for k, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				now = append(now, p)
			case p.FunctionResponse != nil && len(answers) == k:
				answers = append(answers, p)
			case p.FunctionResponse != nil:
				return geminiInvalid(
					"Please ensure that function response turn comes immediately after a function call turn.",
				)
			}
		}
		if len(answers) != len(calls) {
			return geminiInvalid(
				"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
			)
		}
		for k, a := range answers {
			if call := calls[k].FunctionCall; a.FunctionResponse.Name != call.Name || a.FunctionResponse.ID != call.ID {
				return geminiInvalid(
					"Please ensure that the function response parts match the function call parts of the function call turn.",
				)
			}
		}
		calls = now
	}
	return nil
}

// checkSignatures wants a signature on the first call of each content, and none
// that is not the API's own.
func (s *Server) checkSignatures(req *geminiRequest) *apiError {
	for i, c := range req.Contents {
		first := true
		for _, p := range c.Parts {
			sign := p.ThoughtSignature // bytes, in either of the two alphabets of base64
			if sign != noSignature {
				sign = strings.NewReplacer("-", "+", "_", "/").Replace(sign)
			}
			if sign != "" && sign != noSignature && !s.account().knownRedacted(sign) && !s.issued.played(sign) {
				return geminiInvalid("Thought signature is not valid.")
			}
			if p.FunctionCall != nil && first {
				if first = false; sign == "" {
					return geminiInvalid(
						"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
						p.FunctionCall.Name,
						i+1,
					)
				}
			}
		}
	}
	return nil
}
