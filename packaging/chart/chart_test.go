// Package chart_test renders the Helm chart, decodes what it renders as the types of Kubernetes, and runs the nodes as
// the pods would.
package chart_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// release is what the chart renders.
type release struct {
	settings corev1.ConfigMap
	nodes    appsv1.StatefulSet
	budget   policyv1.PodDisruptionBudget
	services []corev1.Service
	network  *networkingv1.NetworkPolicy // nil if it is turned off
}

// render renders the chart as `helm install hf --values` does. Decoding is strict: a misspelt field or one at the wrong
// place is an error.
func render(t *testing.T, values string) (*release, error) {
	t.Helper()
	c, err := loader.LoadDir("holdfast")
	must(t, err)
	given, err := loader.LoadValues(strings.NewReader(values))
	must(t, err)
	all, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: "hf", Namespace: "locks", IsInstall: true},
		common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	r := &release{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			for document := range strings.SplitSeq(files[name], "\n---\n") {
				if strings.TrimSpace(document) != "" { // what is turned off renders nothing
					r.add(t, name, document)
				}
			}
		}
	}
	return r, nil
}

func (r *release) add(t *testing.T, name, document string) {
	t.Helper()
	var kind struct{ Kind string }
	must(t, yaml.Unmarshal([]byte(document), &kind))
	var object any
	switch kind.Kind {
	case "ConfigMap":
		object = &r.settings
	case "StatefulSet":
		object = &r.nodes
	case "PodDisruptionBudget":
		object = &r.budget
	case "NetworkPolicy":
		r.network = &networkingv1.NetworkPolicy{}
		object = r.network
	case "Service":
		r.services = append(r.services, corev1.Service{})
		object = &r.services[len(r.services)-1]
	default:
		t.Fatalf("%s renders the unknown kind %q:\n%s", name, kind.Kind, document)
	}
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, document)
	}
}

const (
	open     = "embedded: {allowRemote: true}\n"
	secured  = "embedded: {natsConfig: {secret: nats, user: holdfast}}\nenvironmentSecret: passwords\n"
	loggedIn = "embedded: {auth: {secret: logins}, tls: {secret: certificates}}\nenvironmentSecret: passwords\n"
	external = "external: {url: nats://nats:4222, credsSecret: creds, caSecret: ca}\n"
	all      = "imagePullSecrets: [{name: registry}]\nnodeSelector: {disk: ssd}\ntolerations: [{key: locks, operator: Exists}]\n" +
		"podAnnotations: {a: b}\nsettings: {max-ttl: 1h, max-held: 2000000}\naffinity: {nodeAffinity: {}}\n"
)

// What refers to something finds it: services and the budget the pods, ports their names, mounts their volumes.
func TestReferences(t *testing.T) {
	for name, values := range map[string]string{
		"Open": open, "Secured": secured, "LoggedIn": loggedIn, "External": external, "All": open + all,
		"One":   open + "nodes: 1\n",
		"Class": "embedded: {allowRemote: true, storage: {className: fast, size: 1Ti}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := render(t, values)
			must(t, err)
			pod := r.nodes.Spec.Template
			selectors := []map[string]string{r.nodes.Spec.Selector.MatchLabels, r.budget.Spec.Selector.MatchLabels,
				pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels}
			ports := map[string]bool{}
			for _, p := range pod.Spec.Containers[0].Ports {
				ports[p.Name] = true
			}
			for _, s := range r.services {
				selectors = append(selectors, s.Spec.Selector)
				for _, p := range s.Spec.Ports {
					if !ports[p.TargetPort.StrVal] {
						t.Errorf("the port %s of the service %s is none of the pod", p.Name, s.Name)
					}
				}
			}
			for _, selector := range selectors {
				for key, value := range selector {
					if pod.Labels[key] != value {
						t.Errorf("a selector wants %s=%s, pods have %v", key, value, pod.Labels)
					}
				}
			}
			if !slices.ContainsFunc(r.services, func(
				s corev1.Service) bool {
				return s.Name == r.nodes.Spec.ServiceName
			}) {
				t.Errorf("there is no service %s", r.nodes.Spec.ServiceName)
			}
			for _, probe := range []*corev1.Probe{pod.Spec.Containers[0].ReadinessProbe,
				pod.Spec.Containers[0].LivenessProbe} {
				if probe == nil || !ports[probe.HTTPGet.Port.StrVal] {
					t.Errorf("a probe is missing, or its port is none of the pod: %v", probe)
				}
			}
			wantVolumes(t, r)
		})
	}
}

// The policy lets clients to NATS, nodes to one another, and only the namespace or named peers to HTTP. Its ports are
// those of the pod.
func TestNetworkPolicy(t *testing.T) {
	named :=
		"networkPolicy: {monitoring: [{namespaceSelector: {matchLabels: {a: b}}}], clients: [{podSelector: " +
			"{matchLabels: {c: d}}}]}\n"
	for values, want := range map[string]string{
		open: "http from [pods map[]]; nats from []; " +
			"cluster,nats from [pods map[app.kubernetes.io/instance:hf app.kubernetes.io/name:holdfast]]",
		external: "http from [pods map[]]",
		open +
			named: "http from [namespaces map[a:b]]; nats from [pods map[c:d]]; " +
			"cluster,nats from [pods map[app.kubernetes.io/instance:hf app.kubernetes.io/name:holdfast]]",
	} {
		r, err := render(t, values)
		must(t, err)
		var rules []string
		for _, rule := range r.network.Spec.Ingress {
			rules = append(rules, ruleText(t, r, rule))
		}
		if got := strings.Join(rules, "; "); got != want ||
			!maps.Equal(r.network.Spec.PodSelector.MatchLabels, r.nodes.Spec.Selector.MatchLabels) {
			t.Errorf("%sgot  %s of %v\nwant %s", values, got, r.network.Spec.PodSelector, want)
		}
	}
	if r, err := render(t, open+"networkPolicy: {enabled: false}\n"); err != nil || r.network != nil {
		t.Errorf("turned off: %v, %v", r.network, err)
	}
}

func ruleText(t *testing.T, r *release, rule networkingv1.NetworkPolicyIngressRule) string {
	t.Helper()
	var ports, from []string
	for _, p := range rule.Ports {
		if !slices.ContainsFunc(r.nodes.Spec.Template.Spec.Containers[0].Ports,
			func(c corev1.ContainerPort) bool { return c.Name == p.Port.StrVal }) {
			t.Errorf("the pod has no port %v", p.Port)
		}
		ports = append(ports, p.Port.StrVal)
	}
	for _, peer := range rule.From {
		if peer.PodSelector != nil {
			from = append(from, fmt.Sprint("pods ", peer.PodSelector.MatchLabels))
		} else {
			from = append(from, fmt.Sprint("namespaces ", peer.NamespaceSelector.MatchLabels))
		}
	}
	return strings.Join(ports, ",") + " from " + fmt.Sprint(from)
}

// wantVolumes fails unless the mounts are of all the volumes and of no others.
func wantVolumes(t *testing.T, r *release) {
	t.Helper()
	pod := r.nodes.Spec.Template.Spec
	var volumes, mounts []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, c := range r.nodes.Spec.VolumeClaimTemplates {
		volumes = append(volumes, c.Name)
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts = append(mounts, m.Name)
	}
	slices.Sort(volumes)
	slices.Sort(mounts)
	if !slices.Equal(volumes, mounts) {
		t.Errorf("volumes %q, mounts %q", volumes, mounts)
	}
}

// A refusal names the value, the rule or the way out.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"NoWay":   {"", "set embedded.auth.secret"},
		"TwoNATS": {open + "external: {url: nats://nats:4222}\n", "set one of them"},
		"TwoLogins": {"external: {url: nats://nats:4222, credsSecret: creds, user: me}\nenvironmentSecret: x\n",
			"two ways to log in"},
		"AuthAndURL": {
			"embedded: {auth: {secret: logins}}\nexternal: {url: nats://nats:4222}\nenvironmentSecret: x\n",
			"set one of them"},
		"AuthAndConfig": {"embedded: {auth: {secret: logins}, natsConfig: {secret: nats}}\nenvironmentSecret: x\n",
			"leave them out"},
		"AuthAndRemote": {"embedded: {auth: {secret: logins}, allowRemote: true}\nenvironmentSecret: x\n",
			"leave it out"},
		"AuthNoPassword":  {"embedded: {auth: {secret: logins}}\n", "set environmentSecret"},
		"ConfigAndRemote": {"embedded: {allowRemote: true, natsConfig: {secret: nats}}\n", "leave them out"},
		"NoPassword":      {"embedded: {natsConfig: {secret: nats, user: holdfast}}\n", "set environmentSecret"},
		"Nodes":           {open + "nodes: 2\n", "'/nodes': value must be one of 1, 3, 5"},
		"Misspelt":        {open + "node: 3\n", "additional properties 'node' not allowed"},
		"Setting":         {open + "settings: {listen: \"0.0.0.0:1\"}\n", "listen"},
		"Page":            {open + "settings: {http-page: actions}\n", "/settings/http-page"},
		"URL":             {"external: {url: \"nats:4222\"}\n", "/external/url"},
		"Size":            {"embedded: {allowRemote: true, storage: {size: big}}\n", "/embedded/storage/size"},
		"Replicas":        {"external: {url: nats://nats:4222, replicas: 6}\n", "maximum"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render(t, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("rendered with %v, want %q", err, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
