package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/redact"
)

// Runner runs a command until ctx ends, and returns its output.
type Runner func(ctx context.Context, argv []string) (stdout string, err error)

// Key returns the provider's key, empty if it needs none. The caller must add the key to
// the redactor before any other use. The error is of type *KeyError.
func (r *Resolved) Key(ctx context.Context, p Provider, run Runner) (string, error) {
	if p.KeyEnv != "" {
		if key := strings.TrimSpace(r.in.Getenv(p.KeyEnv)); key != "" {
			return checked(p, key, p.KeyEnv)
		}
	}
	if p.Auth == AuthSigV4 && len(p.KeyCommand) == 0 && p.KeyFile == "" {
		return r.awsKey(p)
	}
	if p.KeyFile != "" {
		if p.fileErr != nil {
			return "", &KeyError{Provider: p.Name, Message: fmt.Sprintf("key_file cannot be used: %v", p.fileErr)}
		}
		return checked(p, p.fileKey, p.KeyFile)
	}
	if len(p.KeyCommand) > 0 {
		out, err := run(ctx, p.KeyCommand)
		if err != nil {
			return "", &KeyError{Provider: p.Name, Message: fmt.Sprintf("key_command failed: %v", err)}
		}
		key := strings.TrimSpace(out)
		if compact := new(bytes.Buffer); p.Auth == AuthSigV4 && json.Compact(compact, []byte(key)) == nil {
			key = compact.String()
		}
		if key == "" {
			return "", &KeyError{Provider: p.Name, Message: "key_command printed nothing"}
		}
		return checked(p, key, "key_command")
	}
	if !r.needsKey(p) {
		return "", nil
	}
	return "", &KeyError{
		Provider: p.Name,
		Message:  fmt.Sprintf("there is no key; set %s, or run \"settle setup\" in a terminal", p.KeyEnv),
	}
}

// setAWS is advice on how to give settle AWS credentials.
const setAWS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or " +
	"key_command = [\"aws\", \"configure\", \"export-credentials\"]"

// awsKey returns AWS credentials of the environment, as JSON.
func (r *Resolved) awsKey(p Provider) (string, error) {
	get := func(name string) string { return strings.TrimSpace(r.in.Getenv(name)) }
	id, secret := get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return "", &KeyError{
			Provider: p.Name,
			Message:  "there are no AWS credentials; " + setAWS,
		}
	}
	data, err := json.Marshal(map[string]string{ // as package sigv4 reads it
		"AccessKeyId": id, "SecretAccessKey": secret, "SessionToken": get("AWS_SESSION_TOKEN"),
	})
	return string(data), err
}

// maxKey bounds a file with a key, in bytes.
const maxKey = 64 << 10

// readKey reads a file with a key. Only the user can read and write the file.
func readKey(path string) (string, error) {
	if err := disk.CheckPrivate(path); err != nil {
		return "", err
	}
	data, size, err := disk.Read(path, maxKey)
	switch key := strings.TrimSpace(string(data)); {
	case err != nil:
		return "", err
	case size > maxKey:
		return "", fmt.Errorf("%q is larger than %d bytes", path, maxKey)
	case key == "":
		return "", fmt.Errorf("%q is empty", path)
	default:
		return key, nil
	}
}

// FromCommand reports whether the provider's key is the output of its key_command.
func (r *Resolved) FromCommand(p Provider) bool {
	return len(p.KeyCommand) > 0 && (p.KeyEnv == "" || strings.TrimSpace(r.in.Getenv(p.KeyEnv)) == "")
}

// needsKey reports whether the provider refuses requests without a key. Local servers need
// none, unless the user configured one.
func (r *Resolved) needsKey(p Provider) bool {
	return p.KeyEnv != "" && !p.bearer && (p.keyNamed || p.Wire != WireChat && !p.Private())
}

// checked refuses a key that a header cannot contain. The error does not contain the key.
func checked(p Provider, key, source string) (string, error) {
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", &KeyError{
			Provider: p.Name,
			Message:  fmt.Sprintf("the key from %s contains a line break or a control character", source),
		}
	}
	return key, nil
}

// Secrets returns the values that must never be shown (C15), except the output of a
// key_command.
func (r *Resolved) Secrets() []string {
	secrets := append(r.providerSecrets(), r.serverSecrets()...)
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if u, err := url.Parse(r.in.Getenv(name)); err == nil {
			if password, ok := u.User.Password(); ok {
				secrets = append(secrets, password)
			}
		}
	}
	secrets = append(secrets, r.collectorSecrets()...)
	return slices.DeleteFunc(secrets, func(secret string) bool { return secret == "" })
}

// collectorVariables are the variables whose values settle sends to an OpenTelemetry
// collector.
const collectorVariables = "OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_EXPORTER_OTLP_METRICS_HEADERS"

// collectorSecrets returns the values of the headers, also without "Bearer".
func (r *Resolved) collectorSecrets() (secrets []string) {
	for name := range strings.FieldsSeq(collectorVariables) {
		for pair := range strings.SplitSeq(r.in.Getenv(name), ",") {
			_, written, _ := strings.Cut(pair, "=")
			value, _ := url.PathUnescape(written)
			secrets = append(secrets, strings.TrimSpace(written), strings.TrimSpace(value),
				value[strings.LastIndex(value, " ")+1:])
		}
	}
	return secrets
}

// providerSecrets returns the secrets that settle sends to providers.
func (r *Resolved) providerSecrets() []string {
	var secrets []string
	for _, p := range sortedProviders(r.Providers) {
		secrets = append(secrets, p.secretsOf()...)
		if p.KeyEnv != "" {
			secrets = append(secrets, r.in.Getenv(p.KeyEnv))
		}
	}
	return append(secrets, Provider{BaseURL: r.BaseURL}.secretsOf()...)
}

// Withholds reports whether tools do not receive a variable with the value: the value
// contains a provider's secret, and --pass-env names no variable with it.
func (r *Resolved) Withholds(value string) bool {
	return slices.ContainsFunc(r.providerSecrets(), func(secret string) bool {
		secret = strings.TrimSpace(secret)
		return len(secret) >= redact.MinLength && strings.Contains(value, secret) &&
			!slices.ContainsFunc(r.PassEnv,
				func(name string) bool { return strings.Contains(r.in.Getenv(name), secret) })
	})
}

// Withheld returns the set variables that contain a provider's secret and that --pass-env
// does not name.
func (r *Resolved) Withheld() []string {
	names := strings.Fields(collectorVariables)
	for _, p := range sortedProviders(r.Providers) {
		names = append(names, p.KeyEnv)
		names = append(names, p.vars...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return name == "" || r.in.Getenv(name) == "" || slices.Contains(r.PassEnv, name)
	})
}
