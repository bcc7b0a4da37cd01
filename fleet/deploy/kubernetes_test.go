package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"sigs.k8s.io/yaml"
)

// manifest reads a manifest into one of Kubernetes' types. A field that the type does
// not have, or twice, fails the test.
func manifest[T any](t *testing.T, name, apiVersion, kind string) *T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(data, &meta); err != nil || meta.APIVersion != apiVersion || meta.Kind != kind {
		t.Fatalf("%s: %+v, %v", name, meta, err)
	}
	var object T
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &object
}

// pods are those of the manifests, by file.
func pods(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	prune := manifest[batchv1.CronJob](t, "prune.yaml", "batch/v1", "CronJob")
	return map[string]corev1.PodTemplateSpec{
		"command.yaml": manifest[batchv1.Job](t, "command.yaml", "batch/v1", "Job").Spec.Template,
		"migrate.yaml": manifest[batchv1.Job](t, "migrate.yaml", "batch/v1", "Job").Spec.Template,
		"prune.yaml":   prune.Spec.JobTemplate.Spec.Template,
		"submit.yaml":  manifest[batchv1.Job](t, "submit.yaml", "batch/v1", "Job").Spec.Template,
		"worker.yaml":  manifest[appsv1.Deployment](t, "worker.yaml", "apps/v1", "Deployment").Spec.Template,
	}
}

// The manifests have Kubernetes' own types, and no others are there.
func TestKinds(t *testing.T) {
	class := manifest[nodev1.RuntimeClass](t, "runtimeclass.yaml", "node.k8s.io/v1", "RuntimeClass")
	d := manifest[appsv1.Deployment](t, "worker.yaml", "apps/v1", "Deployment")
	if got := d.Spec.Template.Spec.RuntimeClassName; got == nil || *got != class.Name || class.Handler == "" {
		t.Errorf("the workers' runtime class is %v, and there is %q", got, class.Name)
	}
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the selector wants %s=%s, and pods have %q", key, value, d.Spec.Template.Labels[key])
		}
	}
	files, err := filepath.Glob("kubernetes/*")
	others := []string{"runtimeclass.yaml", "autoscale.yaml", "disruption.yaml", "network.yaml"}
	if want := len(pods(t)) + len(others); err != nil || len(files) != want {
		t.Errorf("%d files, of which %d are tested; %v", len(files), want, err)
	}
}

// Pods satisfy Kubernetes' restricted security standard
// (kubernetes.io/docs/concepts/security/pod-security-standards), write nothing but their
// volumes, and name volumes, ports and probes that are there.
func TestPods(t *testing.T) {
	for name, p := range pods(t) {
		t.Run(name, func(t *testing.T) {
			s := p.Spec.SecurityContext
			if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser != 1000 ||
				s.SeccompProfile == nil ||
				s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("the pod's security context: %+v", s)
			}
			if p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken {
				t.Error("commands get a token of the cluster")
			}
			volumes := map[string]bool{}
			for _, v := range p.Spec.Volumes {
				volumes[v.Name] = true
			}
			for _, c := range containers(p) {
				if err := confined(c.SecurityContext); err != nil {
					t.Errorf("%s: %v", c.Name, err)
				}
				if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s has no limit of memory or requests no processor", c.Name)
				}
				data := false
				for _, m := range c.VolumeMounts {
					data = data || m.MountPath == "/data"
					if !volumes[m.Name] {
						t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
					}
				}
				if !data {
					t.Errorf("%s has nowhere for its data", c.Name)
				}
				for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
					if probe != nil && (probe.HTTPGet.Path != "/ready" || !hasPort(c, probe.HTTPGet.Port.StrVal)) {
						t.Errorf("%s has no port for its probe, or its probe queries the database", c.Name)
					}
				}
			}
		})
	}
}

func hasPort(c corev1.Container, name string) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
}

func containers(p corev1.PodTemplateSpec) []corev1.Container {
	return slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
}

func confined(s *corev1.SecurityContext) error {
	switch {
	case s == nil, s.AllowPrivilegeEscalation == nil, *s.AllowPrivilegeEscalation:
		return fmt.Errorf("privileges may grow: %+v", s)
	case s.ReadOnlyRootFilesystem == nil, !*s.ReadOnlyRootFilesystem:
		return fmt.Errorf("the root file system can be written: %+v", s)
	case s.Capabilities == nil,
		!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}),
		len(s.Capabilities.Add) > 0:
		return fmt.Errorf("capabilities are left: %+v", s.Capabilities)
	}
	return nil
}

// environment is what a container's program gets: values, secrets, and fields of the pod.
func environment(t *testing.T, c corev1.Container, secrets, fields map[string]string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, e := range c.Env {
		value, from, found := e.Value, e.ValueFrom, true
		switch {
		case from == nil:
		case from.SecretKeyRef != nil:
			if value, found = secrets[from.SecretKeyRef.Key]; !found && from.SecretKeyRef.Optional != nil &&
				*from.SecretKeyRef.Optional {
				continue
			}
			found = found && from.SecretKeyRef.Name == "settle-fleet"
		case from.FieldRef != nil:
			value, found = fields[from.FieldRef.FieldPath]
		}
		if !found {
			t.Fatalf("%s: nothing gives %s its value", c.Name, e.Name)
		}
		env[e.Name] = value
	}
	return env
}

// arguments are a container's, with the variables that they name.
func arguments(c corev1.Container, env map[string]string) []string {
	var args []string
	for _, a := range c.Args {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			a = replaceVariable(a, name, env[name])
		}
		args = append(args, a)
	}
	return args
}
