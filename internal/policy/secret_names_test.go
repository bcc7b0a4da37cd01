package policy

import "testing"

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		".env":                     true,
		"a/.env.local":             true,
		".env.example":             false,
		"secret.yml":               true,
		"secrets.toml":             true,
		"secret.go":                false,
		"service-account.json":     true,
		"serviceAccountKey.json":   true,
		"gha-creds-1a2b.json":      true,
		"terraform.tfstate":        true,
		"terraform.tfstate.backup": true,
		"prod.tfvars":              true,
		"prod.auto.tfvars.json":    true,
		"main.tf":                  false,
		".dev.vars":                true,
		".s3cfg":                   true,
		".boto":                    true,
		".vault_pass.txt":          true,
		"wp-config.php":            true,
		"server.pem.bak":           true,
		"key.go":                   false,
		"id_ed25519":               true,
		"id_ed25519.pub":           false,
		"account.json":             false,
	} {
		if got := Secret(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
