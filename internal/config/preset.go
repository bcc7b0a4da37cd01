package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Auth is the way to send a provider's key.
type Auth string

// The ways to send a key. Empty leaves it to the wire format.
const (
	AuthBearer Auth = "bearer"
	AuthAPIKey Auth = "api-key" // Azure's header
	AuthSigV4  Auth = "sigv4"   // the key is AWS credentials, which sign each request
)

// preset is a documented service of a cloud: the defaults of a provider.
type preset struct {
	wire Wire
	// baseURL has {resource}, {region}, {project} and {host} of Vertex.
	baseURL string
	keyEnv  string
	// auth sends a key, and tokenAuth the output of a key_command.
	auth, tokenAuth Auth
	// service is the name of the service in AWS's signatures.
	service string
	// command prints a token if the user names no other source of a key.
	command []string
}

// presets returns the presets. Their addresses and headers come from the official SDKs of OpenAI
// (azure, bedrock) and Anthropic (foundry, bedrock, vertex), as of November 2026.
func presets() map[string]preset {
	const (
		vertex     = "https://{host}/v1/projects/{project}/locations/{region}"
		vertexBeta = "https://{host}/v1beta1/projects/{project}/locations/{region}"
	)
	gcloud := []string{"gcloud", "auth", "print-access-token"}
	return map[string]preset{
		"azure": {
			wire: WireOpenAI, baseURL: "https://{resource}.openai.azure.com/openai/v1",
			keyEnv: "AZURE_OPENAI_API_KEY", auth: AuthAPIKey, tokenAuth: AuthBearer,
		},
		"azure-claude": {
			wire: WireAnthropic, baseURL: "https://{resource}.services.ai.azure.com/anthropic",
			keyEnv: "ANTHROPIC_FOUNDRY_API_KEY", tokenAuth: AuthBearer,
		},
		"bedrock": {
			wire: WireOpenAI, baseURL: "https://bedrock-mantle.{region}.api.aws/openai/v1",
			keyEnv: "AWS_BEARER_TOKEN_BEDROCK", auth: AuthBearer, tokenAuth: AuthBearer, service: "bedrock-mantle",
		},
		"bedrock-chat": {
			wire: WireChat, baseURL: "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
			keyEnv: "AWS_BEARER_TOKEN_BEDROCK", auth: AuthBearer, tokenAuth: AuthBearer, service: "bedrock",
		},
		"bedrock-claude": {
			wire: WireAnthropic, baseURL: "https://bedrock-mantle.{region}.api.aws/anthropic",
			keyEnv: "AWS_BEARER_TOKEN_BEDROCK", auth: AuthBearer, tokenAuth: AuthBearer, service: "bedrock-mantle",
		},
		"vertex": {
			wire: WireGemini, baseURL: vertexBeta + "/publishers/google",
			auth: AuthBearer, tokenAuth: AuthBearer, command: gcloud,
		},
		"vertex-claude": {
			wire: WireAnthropic, baseURL: vertex + "/publishers/anthropic",
			auth: AuthBearer, tokenAuth: AuthBearer, command: gcloud,
		},
		"vertex-chat": {
			wire: WireChat, baseURL: vertex + "/endpoints/openapi",
			auth: AuthBearer, tokenAuth: AuthBearer, command: gcloud,
		},
	}
}

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets())) }

func asPreset(value any) (string, error) { return asOneOf[string](value, Presets()) }

func asAuth(value any) (Auth, error) {
	return asOneOf[Auth](value, []string{string(AuthBearer), string(AuthAPIKey), string(AuthSigV4)})
}

// part is a part of a preset's address, with the variables that the cloud's own tools read.
type part struct {
	name, example string
	variables     []string
}

func parts() []part {
	return []part{
		{"resource", "my-resource", []string{"AZURE_RESOURCE_NAME"}},
		{"project", "my-project", []string{"GOOGLE_CLOUD_PROJECT"}},
		{"region", "us-east-1", nil},
	}
}

// regionVariables are the variables with a region, by cloud.
func regionVariables(name string) (variables []string, example string) {
	if strings.HasPrefix(name, "vertex") {
		return []string{"GOOGLE_CLOUD_LOCATION"}, "global"
	}
	return []string{"AWS_REGION", "AWS_DEFAULT_REGION"}, "us-east-1"
}

// preset reads the preset of a provider, and the parts of its address.
func (l *loader) preset(t *table, p *Provider) {
	var name string
	if get(t, "preset", &name, asPreset) {
		if _, taken := builtin()[p.Name]; taken { // its address and its key are the models' maker's
			t.fail("preset", fmt.Errorf("needs a provider of another name, such as [providers.%s]", name))
		} else {
			of := presets()[name]
			p.Preset, p.Wire, p.KeyEnv = name, of.wire, of.keyEnv
		}
	}
	values := map[string]*string{"resource": &p.Resource, "region": &p.Region, "project": &p.Project}
	for _, part := range parts() {
		get(t, part.name, values[part.name], asLabel)
	}
}

// address completes the address and the authorization of a provider with a preset.
func (l *loader) address(t *table, p *Provider) {
	get(t, "auth", &p.Auth, asAuth)
	of, found := presets()[p.Preset]
	if !found {
		l.signed(t, p)
		return
	}
	if p.Auth == "" {
		if p.Auth = of.auth; len(p.KeyCommand) > 0 {
			p.Auth = of.tokenAuth
		}
	}
	p.Service = of.service
	if p.KeyEnv == "" && p.KeyFile == "" && len(p.KeyCommand) == 0 {
		p.KeyCommand = of.command
	}
	values := map[string]*string{"resource": &p.Resource, "region": &p.Region, "project": &p.Project}
	base := of.baseURL
	for _, part := range parts() {
		value := values[part.name]
		if part.name == "region" {
			part.variables, part.example = regionVariables(p.Preset)
		}
		for _, variable := range part.variables {
			if label, err := asLabel(l.in.Getenv(variable)); *value == "" && err == nil {
				*value = label
			}
		}
		if !strings.Contains(base, "{"+part.name+"}") {
			continue
		}
		if *value == "" && p.BaseURL == "" && !t.isSet("base_url") {
			t.missing(part.name, fmt.Errorf(
				"is missing: the preset %q needs it; set %s = %q under [providers.%s], or %s",
				p.Preset, part.name, part.example, p.Name, part.variables[0],
			))
		}
		base = strings.ReplaceAll(base, "{"+part.name+"}", *value)
	}
	if p.BaseURL == "" {
		p.BaseURL = strings.ReplaceAll(base, "{host}", vertexHost(p.Region))
		p.BaseURLOrigin = Origin{Kind: File, Where: t.where("preset")}
	}
	l.signed(t, p)
}

// signed checks a provider whose requests are signed.
func (l *loader) signed(t *table, p *Provider) {
	if p.Auth != AuthSigV4 {
		return
	}
	if p.Service == "" && (p.Preset != "" || !t.isSet("preset")) {
		t.fail("auth", fmt.Errorf("sigv4 is for the presets bedrock, bedrock-chat and bedrock-claude"))
	}
	if p.Region == "" {
		t.missing("region", fmt.Errorf("is missing: signatures name it; set region = \"us-east-1\", or AWS_REGION"))
	}
	if p.KeyEnv != "" { // a set AWS_BEARER_TOKEN_BEDROCK cannot sign, and stays a secret
		p.vars, p.secrets = append(p.vars, p.KeyEnv), append(p.secrets, l.in.Getenv(p.KeyEnv))
		p.KeyEnv = ""
	}
	if len(p.KeyCommand) == 0 && p.KeyFile == "" {
		for _, name := range awsVariables() { // commands do not receive them (C15)
			p.vars, p.secrets = append(p.vars, name), append(p.secrets, l.in.Getenv(name))
		}
	}
}

// awsVariables are the variables with AWS credentials.
func awsVariables() []string {
	return []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
}

// vertexHost returns the host of a location of Vertex AI.
func vertexHost(region string) string {
	switch region {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + region + ".rep.googleapis.com"
	}
	return region + "-aiplatform.googleapis.com"
}

// asLabel accepts a part of an address: nothing that could name another host or path.
func asLabel(value any) (string, error) {
	word, err := asText(value)
	if err != nil {
		return "", err
	}
	if !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$`).MatchString(word) {
		return "", fmt.Errorf("must consist of letters, digits and -")
	}
	return word, nil
}
