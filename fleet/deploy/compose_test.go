package deploy

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose reads the file as docker compose does, schema, anchors, variables and all.
func compose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(
		[]string{"compose.yaml"},
		cli.WithEnv(env),
		cli.WithProfiles([]string{"*"}),
		cli.WithInterpolation(true),
	)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// Compose takes the file. Services wait for what they need, and what runs settle-fleet
// is confined and writes only where something is mounted.
func TestCompose(t *testing.T) {
	p := compose(t, "OPENAI_API_KEY=k", "SETTLE_FLEET_PASSWORD=secret")
	if got := slices.Sorted(slices.Values(p.ServiceNames())); !slices.Equal(
		got, []string{"cli", "database", "migrate", "temporal", "worker"},
	) {
		t.Fatalf("%q", got)
	}
	migrated := "migrate " + types.ServiceConditionCompletedSuccessfully
	for name, conditions := range map[string][]string{
		"migrate": {"database " + types.ServiceConditionHealthy},
		"worker":  {migrated, "temporal " + types.ServiceConditionStarted},
		"cli":     {migrated},
	} {
		s := p.Services[name]
		var got []string
		for on, d := range s.DependsOn {
			got = append(got, on+" "+d.Condition)
		}
		if slices.Sort(got); !slices.Equal(got, conditions) {
			t.Errorf("%s waits for %q", name, got)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s is not confined: %+v", name, s)
		}
		if got := s.Environment["SETTLE_FLEET_DATABASE"]; got == nil ||
			*got != "postgres://settle:secret@database/settle" {
			t.Errorf("the database of %s is %v", name, got)
		}
	}
	worker := p.Services["worker"]
	if !slices.ContainsFunc(worker.Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Type == types.VolumeTypeVolume && v.Target == "/data" && v.Source == ""
	}) || !slices.Equal(worker.Tmpfs, []string{"/tmp:exec"}) {
		t.Errorf("commands of a worker cannot run what they build: %+v, %q", worker.Volumes, worker.Tmpfs)
	}
	if grace := worker.StopGracePeriod; grace == nil || time.Duration(*grace) < graceSeconds*time.Second {
		t.Errorf("a worker has %v to end", grace)
	}
	if test := p.Services["database"].HealthCheck.Test; !slices.Contains(test, "127.0.0.1") {
		t.Errorf("the server of the database's set-up passes %q", test)
	}
	if image := p.Services["temporal"].Image; strings.HasSuffix(image, ":latest") || !strings.Contains(image, ":") {
		t.Errorf("Temporal's image is %q", image)
	}
	if len(p.Services["database"].Ports) > 0 || len(p.Services["temporal"].Ports) > 0 {
		t.Error("a server is open to the network")
	}
	if _, err := os.Stat(filepath.Join(p.WorkingDir, "compose.yaml")); err != nil {
		t.Error(err)
	}
}
