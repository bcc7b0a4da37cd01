package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// written returns the text of a page from its first part that begins so to the first that ends it.
func written(t *testing.T, page, begin, end string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), begin)
	command, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q … %q", page, begin, end)
	}
	return begin + command
}

// shell runs a command of a page in a directory, and returns what it prints.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// TestImageIsReplaced: the page's command sets the image of all manifests, also for the next version.
func TestImageIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("kubernetes")); err != nil {
		t.Fatal(err)
	}
	command := written(t, "fleet-operations.md", "sed -i 's|image: ", "\n")
	before := len(lines(shell(t, dir, "grep -h 'image: ' *.yaml")))
	for _, version := range []string{"1.2.3", "1.2.4"} {
		shell(t, dir, strings.ReplaceAll(command, "1.2.3", version))
		images := lines(shell(t, dir, "grep -h 'image: ' *.yaml"))
		if other := slices.ContainsFunc(images, func(image string) bool {
			return strings.TrimSpace(image) != "image: registry.example.org/settle-fleet:"+version
		}); other || len(images) != before || before < 6 {
			t.Errorf("the images are %q", images)
		}
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// TestVersionedDeployment: the page's command makes a deployment whose pods are no other one's.
func TestVersionedDeployment(t *testing.T) {
	out := shell(t, "kubernetes", written(t, "fleet-upgrades.md", "sed -e 's|name: settle-worker", " |\n"))
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	const label, version = "app.kubernetes.io/version", "v1.2.4"
	if d.Name != "settle-worker-1-2-4" || d.Spec.Selector.MatchLabels[label] != version ||
		d.Spec.Template.Labels[label] != version {
		t.Errorf("%s selects %v, and its pods have %v", d.Name, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
	}
	args := d.Spec.Template.Spec.Containers[0].Args
	if !slices.Equal(args[:3], []string{"worker", "--deployment", "settle"}) {
		t.Errorf("its workers run %q", args)
	}
}

// TestTasksAreReplaced: the page's command has a submission use a ConfigMap of its own.
func TestTasksAreReplaced(t *testing.T) {
	command := written(t, "fleet-operations.md", `sed "s|{name: settle-tasks`, " |")
	out := shell(t, "kubernetes", "tasks=settle-tasks-1; "+command)
	var job batchv1.Job
	if err := yaml.UnmarshalStrict([]byte(out), &job); err != nil {
		t.Fatal(err)
	}
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name != "settle-tasks-1" {
			t.Errorf("the tasks are from %q", v.ConfigMap.Name)
		}
	}
}

// TestConfigurationIsMounted: the page's command mounts the configuration of workers, and git's.
func TestConfigurationIsMounted(t *testing.T) {
	out := shell(t, "kubernetes", strings.Replace(
		written(t, "fleet-operations.md", "sed -i 's|# - {name: config", " worker.yaml"), "-i ", "", 1)+" worker.yaml")
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	mounts := map[string]string{}
	for _, m := range d.Spec.Template.Spec.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	got := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			got[v.ConfigMap.Name] = mounts[v.Name]
		case v.Secret != nil:
			got[v.Secret.SecretName] = mounts[v.Name]
		}
	}
	if want := map[string]string{
		"settle-config": "/home/settle/.config/settle", "settle-git": "/home/settle/.config/git",
	}; !maps.Equal(got, want) {
		t.Errorf("the worker mounts %v, want %v", got, want)
	}
}

// TestCommandIsReplaced: the page's command runs another command of settle-fleet.
func TestCommandIsReplaced(t *testing.T) {
	out := shell(t, "kubernetes", written(t, "fleet-operations.md", "sed 's|args: .*|", " |\n"))
	var job batchv1.Job
	if err := yaml.UnmarshalStrict([]byte(out), &job); err != nil {
		t.Fatal(err)
	}
	if got := job.Spec.Template.Spec.Containers[0].Args; !slices.Equal(got, []string{"approvals", "approve", "3f9c"}) {
		t.Errorf("it runs %q", got)
	}
}
