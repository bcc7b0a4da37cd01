package modeltest_test

import (
	"strings"
	"testing"
)

const (
	closedSchema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	openSchema   = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`
)

func TestSchemaRules(t *testing.T) {
	t.Run("responses", func(t *testing.T) {
		body := func(format string) string {
			return `{"model":"m","store":false,"stream":true,"input":"hi","text":{"format":` + format + `}}`
		}
		checkRefusals(t, "/v1/responses", []refusal{
			{"text", body(`{"type":"text"}`), ""},
			{"strict", body(`{"type":"json_schema","name":"a","strict":true,"schema":` + closedSchema + `}`), ""},
			{"open", body(`{"type":"json_schema","name":"a","schema":` + openSchema + `}`), ""},
			{
				"open and strict",
				body(`{"type":"json_schema","name":"a","strict":true,"schema":` + openSchema + `}`),
				"In context=('a', 'items', ), 'additionalProperties' is required",
			},
			{
				"optional and strict",
				body(
					`{"type":"json_schema","name":"a","strict":true,"schema":` + strings.Replace(
						closedSchema, `"required":["a"],`, "", 1,
					) + `}`,
				),
				"Missing 'a'",
			},
			{
				"no name",
				body(`{"type":"json_schema","schema":` + closedSchema + `}`),
				"Missing required parameter: 'text.format.name'",
			},
			{
				"bad name",
				body(`{"type":"json_schema","name":"a b","schema":` + closedSchema + `}`),
				"string does not match pattern",
			},
			{
				"no schema",
				body(`{"type":"json_schema","name":"a"}`),
				"Missing required parameter: 'text.format.schema'",
			},
			{"a list", body(`{"type":"json_schema","name":"a","schema":{"type":"array"}}`), `got 'type: "array"'`},
			{"another type", body(`{"type":"yaml"}`), "Invalid value: 'yaml'"},
			{"no object", body(`"json"`), "Invalid type for 'text.format'"},
		})
	})
	t.Run("chat", func(t *testing.T) {
		body := func(format string) string {
			return `{"model":"m","stream":true,"messages":[` + user + `],"response_format":` + format + `}`
		}
		checkRefusals(t, "/v1/chat/completions", []refusal{
			{"an object", body(`{"type":"json_object"}`), ""},
			{
				"strict",
				body(`{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":` + closedSchema + `}}`),
				"",
			},
			{
				"open and strict",
				body(`{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":` + openSchema + `}}`),
				"'additionalProperties' is required",
			},
			{
				"nothing",
				body(`{"type":"json_schema"}`),
				"Missing required parameter: 'response_format.json_schema.name'",
			},
		})
	})
	t.Run("messages", func(t *testing.T) {
		body := func(format string) string {
			return strings.Replace(messagesBody(user), `"stream"`, `"output_config":{"format":`+format+`},"stream"`, 1)
		}
		checkRefusals(t, "/v1/messages", []refusal{
			{"closed", body(`{"type":"json_schema","schema":` + closedSchema + `}`), ""},
			{
				"open",
				body(`{"type":"json_schema","schema":` + openSchema + `}`),
				"'additionalProperties' must be explicitly set to false",
			},
			{
				"no schema",
				body(`{"type":"json_schema"}`),
				"output_config.format.schema: Input should be a valid dictionary",
			},
			{"another type", body(`{"type":"json_object"}`), "output_config.format: Input tag 'json_object'"},
		})
	})
}

func TestSchemaIsRecorded(t *testing.T) {
	srv := strictServer(t)
	for path, body := range map[string]string{
		"/v1/responses":        `{"model":"m","store":false,"input":"hi","text":{"format":{"type":"json_schema","name":"a","schema":` + closedSchema + `}}}`,
		"/v1/chat/completions": `{"model":"m","messages":[` + user + `],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + closedSchema + `}}}`,
		"/v1/messages":         strings.Replace(messagesBody(user), `"stream"`, `"output_config":{"format":{"type":"json_schema","schema":`+closedSchema+`}},"stream"`, 1),
	} {
		if a := ask(t.Context(), srv, path, body); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, x := range srv.Exchanges() {
		if string(x.Schema) != closedSchema {
			t.Errorf("%s: the schema is %s", x.Path, x.Schema)
		}
	}
	ask(t.Context(), srv, "/v1/messages", messagesBody(user))
	if x := srv.Exchanges()[3]; x.Schema != nil {
		t.Errorf("none was asked for, and %s is recorded", x.Schema)
	}
}
