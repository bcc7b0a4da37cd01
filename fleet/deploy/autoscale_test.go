package deploy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// schema is the part of an OpenAPI schema that KEDA's resource uses.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Additional *schema           `json:"additionalProperties"`
	Open       bool              `json:"x-kubernetes-preserve-unknown-fields"`
}

// check returns what in a value does not satisfy the schema.
func (s schema) check(at string, value any) (problems []string) {
	kind := "string"
	switch v := value.(type) {
	case map[string]any:
		kind = "object"
		for name, part := range v {
			switch p, known := s.Properties[name]; {
			case known:
				problems = append(problems, p.check(at+"."+name, part)...)
			case s.Open: // Kubernetes' own types
			case s.Additional != nil:
				problems = append(problems, s.Additional.check(at+"."+name, part)...)
			default:
				problems = append(problems, at+"."+name+" is not known")
			}
		}
		for _, name := range s.Required {
			if v[name] == nil {
				problems = append(problems, at+"."+name+" is missing")
			}
		}
	case []any:
		kind = "array"
		for n, part := range v {
			problems = append(problems, s.Items.check(fmt.Sprintf("%s[%d]", at, n), part)...)
		}
	case float64:
		kind = "integer"
	case bool:
		kind = "boolean"
	}
	if s.Type != kind {
		problems = append(problems, fmt.Sprintf("%s is of the type %s, want %s", at, kind, s.Type))
	}
	return problems
}

// scaled is the ScaledObject of the manifests, with the metadata of its triggers by their type.
func scaled(t *testing.T) (spec map[string]any, metadata map[string]map[string]string) {
	t.Helper()
	data, err := os.ReadFile("kubernetes/autoscale.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		APIVersion, Kind string
		Spec             map[string]any
	}
	if err := yaml.Unmarshal(data, &object); err != nil || object.APIVersion != "keda.sh/v1alpha1" ||
		object.Kind != "ScaledObject" {
		t.Fatalf("%+v, %v", object, err)
	}
	metadata = map[string]map[string]string{}
	for _, one := range object.Spec["triggers"].([]any) {
		trigger := one.(map[string]any)
		of := map[string]string{}
		for name, value := range trigger["metadata"].(map[string]any) {
			of[name] = value.(string)
		}
		metadata[trigger["type"].(string)] = of
	}
	return object.Spec, metadata
}

// parameter is one of a scaler.
type parameter struct {
	Name, Deprecated string
	Optional         bool
	Default          any
}

// checkScaler checks the parameters of a trigger.
func checkScaler(t *testing.T, all []parameter, metadata map[string]string) {
	t.Helper()
	known := map[string]bool{}
	for _, p := range all {
		known[p.Name] = p.Deprecated == ""
		if _, given := metadata[p.Name]; !given && !p.Optional && p.Default == nil {
			t.Errorf("the scaler needs %s", p.Name)
		}
	}
	for name := range metadata {
		if !known[name] {
			t.Errorf("the scaler has no parameter %s", name)
		}
	}
}

// TestAutoscaling: the ScaledObject satisfies KEDA's schema and those of its scalers,
// and its numbers are those of the workers.
func TestAutoscaling(t *testing.T) {
	text, err := os.ReadFile("testdata/keda.json")
	if err != nil {
		t.Fatal(err)
	}
	var keda struct {
		Spec                 schema
		Temporal, Postgresql []parameter
	}
	if err := json.Unmarshal(text, &keda); err != nil {
		t.Fatal(err)
	}
	spec, metadata := scaled(t)
	if problems := keda.Spec.check("spec", spec); len(problems) > 0 {
		t.Error(problems)
	}
	temporal, database := metadata["temporal"], metadata["postgresql"]
	checkScaler(t, keda.Temporal, temporal)
	checkScaler(t, keda.Postgresql, database)
	worker := manifest[appsv1.Deployment](t, "worker.yaml", "apps/v1", "Deployment")
	args := worker.Spec.Template.Spec.Containers[0].Args
	if slots := args[slices.Index(args, "--slots")+1]; temporal["targetQueueSize"] != slots ||
		database["targetQueryValue"] != slots {
		t.Errorf("a worker has %s slots, and the targets are %q and %q", slots, temporal["targetQueueSize"],
			database["targetQueryValue"])
	}
	if worker.Spec.Replicas != nil {
		t.Error("each kubectl apply of the workers would overrule the scaler")
	}
	if name := spec["scaleTargetRef"].(map[string]any)["name"]; name != worker.Name {
		t.Errorf("it scales %v, and the workers are %s", name, worker.Name)
	}
	env := environment(
		t,
		worker.Spec.Template.Spec.Containers[0],
		map[string]string{"database": "x"},
		map[string]string{
			"metadata.name": "x",
		},
	)
	if env["TEMPORAL_ADDRESS"] != temporal["endpoint"] || env["TEMPORAL_NAMESPACE"] != temporal["namespace"] {
		t.Errorf("workers use Temporal at %q, and the scaler at %q", env["TEMPORAL_ADDRESS"], temporal["endpoint"])
	}
	if env[database["connectionFromEnv"]] != "x" {
		t.Errorf("workers have no database in %s", database["connectionFromEnv"])
	}
	// The scaler's driver would send pool_max_conns of the address to the server, which refuses it.
	if n, err := strconv.Atoi(env["SETTLE_FLEET_CONNECTIONS"]); err != nil || n < 1 {
		t.Errorf("the number of connections can only be in the address, which the scaler also uses: %v", err)
	}
}

// TestHeartbeatTimeout: all programs that start sessions have the same, because it counts on the one that does.
func TestHeartbeatTimeout(t *testing.T) {
	want := ""
	for _, name := range []string{"worker.yaml", "submit.yaml", "command.yaml"} {
		for _, c := range containers(pods(t)[name]) {
			got := ""
			for _, e := range c.Env {
				if e.Name == "SETTLE_FLEET_HEARTBEAT_TIMEOUT" {
					got = e.Value
				}
			}
			want = cmp.Or(want, got)
			if d, err := time.ParseDuration(got); err != nil || d < time.Second || got != want {
				t.Errorf("%s: the container %s has %q; others have %q; %v", name, c.Name, got, want, err)
			}
		}
	}
}

// TestScaleDown: the pause before workers are removed is that of their drain, in Kubernetes' own terms.
func TestScaleDown(t *testing.T) {
	spec, _ := scaled(t)
	text, err := yaml.Marshal(spec["advanced"])
	if err != nil {
		t.Fatal(err)
	}
	var advanced struct {
		HorizontalPodAutoscalerConfig struct {
			Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
		} `json:"horizontalPodAutoscalerConfig"`
	}
	if err := yaml.UnmarshalStrict(text, &advanced); err != nil {
		t.Fatal(err)
	}
	down := advanced.HorizontalPodAutoscalerConfig.Behavior.ScaleDown
	if down == nil || down.StabilizationWindowSeconds == nil || *down.StabilizationWindowSeconds < drainSeconds ||
		len(down.Policies) == 0 || down.Policies[0].Type != autoscalingv2.PercentScalingPolicy {
		t.Errorf("%s", text)
	}
}

const (
	// drainSeconds is the default of --drain-timeout.
	drainSeconds = 600
	// graceSeconds is the least time to end for a worker: after the drain, it has a minute for what is left.
	graceSeconds = drainSeconds + 60 + 30
)

// TestDisruption: nodes are drained one worker at a time, and each has the time of its drain.
func TestDisruption(t *testing.T) {
	budget := manifest[policyv1.PodDisruptionBudget](t, "disruption.yaml", "policy/v1", "PodDisruptionBudget")
	worker := manifest[appsv1.Deployment](t, "worker.yaml", "apps/v1", "Deployment")
	for key, value := range budget.Spec.Selector.MatchLabels {
		if worker.Spec.Template.Labels[key] != value {
			t.Errorf("the budget selects %s=%s, and workers have %q", key, value, worker.Spec.Template.Labels[key])
		}
	}
	if budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("%v workers can be stopped at the same time", budget.Spec.MaxUnavailable)
	}
	if grace := worker.Spec.Template.Spec.TerminationGracePeriodSeconds; grace == nil || *grace < graceSeconds {
		t.Errorf("a worker has %v seconds to end, and needs %d", grace, graceSeconds)
	}
	if c := worker.Spec.Template.Spec.Containers[0]; c.LivenessProbe == nil || c.ReadinessProbe == nil {
		t.Error("a probe is missing")
	}
}

// TestNetworkPolicy: every pod of the manifests is selected, reaches the ports of the
// database and of Temporal, and nothing private by an address.
func TestNetworkPolicy(t *testing.T) {
	policy := manifest[networkingv1.NetworkPolicy](t, "network.yaml", "networking.k8s.io/v1", "NetworkPolicy")
	for name, p := range pods(t) {
		for key, value := range policy.Spec.PodSelector.MatchLabels {
			if p.Labels[key] != value {
				t.Errorf("the policy does not select %s", name)
			}
		}
	}
	ports := map[string]bool{}
	for _, rule := range policy.Spec.Egress {
		for _, p := range rule.Ports {
			ports[p.Port.String()] = true
		}
		for _, to := range rule.To {
			if to.IPBlock != nil && strings.HasSuffix(to.IPBlock.CIDR, "/0") && len(to.IPBlock.Except) < 2 {
				t.Errorf("private addresses can be reached: %+v", to.IPBlock)
			}
		}
	}
	_, metadata := scaled(t)
	_, temporal, _ := strings.Cut(metadata["temporal"]["endpoint"], ":")
	for _, port := range []string{"53", "5432", "443", temporal} {
		if _, err := strconv.Atoi(port); err != nil || !ports[port] {
			t.Errorf("pods do not reach port %q", port)
		}
	}
}
