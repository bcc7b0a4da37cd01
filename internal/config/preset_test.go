package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
)

// Each block of the page of clouds is a valid configuration, with the address that the cloud's SDK
// uses.
func TestPresetsOfDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/clouds.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, block := range strings.Split(string(page), "```toml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		w := newWorld(t)
		w.user(block)
		choice, err := w.load().Choose()
		if err != nil {
			t.Errorf("%v in\n%s", err, block)
			continue
		}
		p := choice.Provider
		got = append(got, strings.Join([]string{
			string(p.Wire), p.BaseURL, string(p.Auth), p.KeyEnv, strings.Join(p.KeyCommand, " "),
		}, " "))
		if p.Makes() {
			t.Errorf("%s has the prices of the models' maker", p.Name)
		}
	}
	const az = "az account get-access-token --query accessToken -o tsv --resource https://cognitiveservices.azure.com"
	const gcloud = "bearer  gcloud auth print-access-token"
	const east = "https://us-east5-aiplatform.googleapis.com/v1/projects/my-project/locations/us-east5"
	want := []string{
		"openai https://my-resource.openai.azure.com/openai/v1 api-key AZURE_OPENAI_API_KEY ",
		"openai https://my-resource.openai.azure.com/openai/v1 bearer  " + az,
		"anthropic https://my-resource.services.ai.azure.com/anthropic  ANTHROPIC_FOUNDRY_API_KEY ",
		"anthropic https://bedrock-mantle.us-east-1.api.aws/anthropic bearer AWS_BEARER_TOKEN_BEDROCK ",
		"openai https://bedrock-mantle.us-west-2.api.aws/openai/v1 bearer AWS_BEARER_TOKEN_BEDROCK ",
		"chat https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1 sigv4  aws configure export-credentials",
		"gemini https://aiplatform.googleapis.com/v1beta1/projects/my-project/locations/global/publishers/google " +
			gcloud,
		"anthropic " + east + "/publishers/anthropic " + gcloud,
		"chat " + east + "/endpoints/openapi " + gcloud,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The error names the missing parts of a preset's address, with an example and the variable. A part
// of an address cannot name another host.
func TestPresetsNameWhatIsMissing(t *testing.T) {
	for file, want := range map[string]string{
		"preset = 'azure'": `is missing: the preset "azure" needs it; set resource = "my-resource" ` +
			`under [providers.x], or AZURE_RESOURCE_NAME`,
		"preset = 'bedrock'":                        `set region = "us-east-1" under [providers.x], or AWS_REGION`,
		"preset = 'vertex'\nregion = 'global'":      `project = "my-project" under [providers.x], or GOOGLE_`,
		"preset = 'vertex'\nproject = 'p'":          `region = "global" under [providers.x], or GOOGLE_CLOUD_LOCATION`,
		"preset = 'bedrock'\nregion = 'evil.org/x'": "must consist of letters, digits and -",
		"preset = 'nimbus'":                         `"nimbus" is not one of azure, azure-claude`,
		"wire = 'chat'\nauth = 'sigv4'":             "sigv4 is for the presets bedrock",
	} {
		w := newWorld(t)
		w.user("[providers.x]\n" + file + "\n")
		if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v", file, err)
		}
	}
}

// A value that cannot be used is reported as one mistake: neither the value nor settings that
// depend on it are reported as missing.
func TestPresetReportsMistakeOnce(t *testing.T) {
	for _, file := range []string{
		"preset = 'azur'\nresource = 'r'",
		"preset = 'bedrok'\nregion = 'us-east-1'\nauth = 'sigv4'",
		"preset = 'bedrock'\nregion = 'evil.org/x'",
		"preset = 'bedrock'\nregion = 'evil.org/x'\nauth = 'sigv4'",
		"preset = 'azure'\nbase_url = 'nonsense'",
		"preset = 'bedrock'\nauth = 'sigv4'",
	} {
		w := newWorld(t)
		w.user("[providers.x]\n" + file + "\n")
		_, err := config.Load(w.in)
		if err == nil || strings.Count(err.Error(), "providers.x.") != 1 {
			t.Errorf("%s:\n%v", file, err)
		}
	}
}

// A built-in provider has the address of the models' maker, which must not receive a cloud's token.
func TestPresetIsRefusedUnderBuiltInNames(t *testing.T) {
	for name, file := range map[string]string{
		"anthropic": "preset = 'vertex-claude'\nregion = 'global'\nproject = 'p'",
		"openai":    "preset = 'azure'\nbase_url = 'https://example.com/v1'",
		"gemini":    "preset = 'vertex'",
		"chat":      "preset = 'bedrock-chat'\nregion = 'us-east-1'\nauth = 'sigv4'",
	} {
		w := newWorld(t)
		w.user("[providers." + name + "]\n" + file + "\n")
		want := "providers." + name + ".preset: needs a provider of another name, such as [providers."
		if _, err := config.Load(w.in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With signatures, commands receive neither the AWS credentials nor the bearer key.
func TestPresetWithholdsKeyThatDoesNotSign(t *testing.T) {
	w := newWorld(t)
	w.env["AWS_BEARER_TOKEN_BEDROCK"] = "the-bearer-key"
	w.user("[providers.x]\npreset = 'bedrock'\nregion = 'us-east-1'\nauth = 'sigv4'\n")
	r := w.load()
	if !slices.Contains(r.Secrets(), "the-bearer-key") {
		t.Error("the bearer key is not masked")
	}
	if !slices.Contains(r.Withheld(), "AWS_BEARER_TOKEN_BEDROCK") {
		t.Error("commands receive the bearer key")
	}
}

func TestPresetReadsVariables(t *testing.T) {
	w := newWorld(t)
	w.env["AWS_REGION"], w.env["AWS_ACCESS_KEY_ID"] = "eu-west-1", "AKID"
	w.env["AWS_SECRET_ACCESS_KEY"] = "the-secret-of-aws"
	w.user("model = 'x/m'\n[providers.x]\npreset = 'bedrock-claude'\nauth = 'sigv4'\n")
	r := w.load()
	choice, err := r.Choose()
	if err != nil || choice.Provider.BaseURL != "https://bedrock-mantle.eu-west-1.api.aws/anthropic" {
		t.Fatalf("%s, %v", choice.Provider.BaseURL, err)
	}
	key, err := r.Key(t.Context(), choice.Provider, nil)
	want := `{"AccessKeyId":"AKID","SecretAccessKey":"the-secret-of-aws","SessionToken":""}`
	if key != want || err != nil {
		t.Errorf("%s, %v", key, err)
	}
	if !strings.Contains(strings.Join(r.Secrets(), " "), "the-secret-of-aws") {
		t.Error("the secret is not masked")
	}
}
