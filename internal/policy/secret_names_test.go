package policy

import "testing"

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		".env":                               true,
		"a/.env.local":                       true,
		".env.example":                       false,
		"secret.yml":                         true,
		"secrets.toml":                       true,
		"secret.go":                          false,
		"service-account.json":               true,
		"serviceAccountKey.json":             true,
		"gha-creds-1a2b.json":                true,
		"terraform.tfstate":                  true,
		"terraform.tfstate.backup":           true,
		"prod.tfvars":                        true,
		"prod.auto.tfvars.json":              true,
		"main.tf":                            false,
		".dev.vars":                          true,
		".s3cfg":                             true,
		".boto":                              true,
		".vault_pass.txt":                    true,
		"wp-config.php":                      true,
		"server.pem.bak":                     true,
		"key.go":                             false,
		"id_ed25519":                         true,
		"id_ed25519.pub":                     false,
		"account.json":                       false,
		"credentials.csv":                    true,
		"rootkey_accessKeys.csv":             true,
		"client_secret_1.json":               true,
		"x-firebase-adminsdk-y.json":         true,
		".config/doctl/config.yaml":          true,
		".config/hcloud/cli.toml":            true,
		".terraform.d/credentials.tfrc.json": true,
		"terraform.rc":                       true,
		"azureAuth.json":                     true,
		"app.publishsettings":                true,
		"docker-config.json":                 true,
		".dockerconfigjson":                  true,
		"rclone.conf":                        true,
		"prod.env.local":                     true,
		"env.production":                     true,
		"secrets.properties":                 true,
		"vault.yml":                          true,
		".psql_history":                      true,
		".oci/config":                        true,
		"config.yaml":                        false,
		"cli.toml":                           false,
		"vite-env.d.ts":                      false,
		"environment.prod.ts":                false,
		"credentials.go":                     false,
		"auth.json":                          false,
		"rclone.go":                          false,
	} {
		if got := Secret(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
