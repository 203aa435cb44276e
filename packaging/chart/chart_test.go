// Package chart_test renders the Helm chart, decodes what it renders as the types of Kubernetes, and runs the nodes as
// the pods would.
package chart_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// Helm logs each time that alerts and dashboard are links.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// release is what the chart renders.
type release struct {
	settings, dashboard *corev1.ConfigMap
	nodes               *appsv1.StatefulSet
	budget              *policyv1.PodDisruptionBudget
	services            []*corev1.Service
	network             *networkingv1.NetworkPolicy
	monitor             *monitoringv1.ServiceMonitor
	rule                *monitoringv1.PrometheusRule
}

// render renders the chart as `helm install hf --values` does. Decoding is strict: a misspelt field or one at the wrong
// place is an error. What is turned off is nil.
func render(t *testing.T, values string) (*release, error) {
	t.Helper()
	c, err := loader.LoadDir(folder)
	must(t, err)
	all, err := util.ToRenderValues(c, parse(t, values),
		common.ReleaseOptions{Name: "hf", Namespace: "locks", IsInstall: true}, common.DefaultCapabilities)
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

func parse(t *testing.T, values string) map[string]any {
	t.Helper()
	given, err := loader.LoadValues(strings.NewReader(values))
	must(t, err)
	return given
}

func (r *release) add(t *testing.T, name, document string) {
	t.Helper()
	var object struct {
		Kind     string
		Metadata struct{ Name string }
	}
	must(t, yaml.Unmarshal([]byte(document), &object))
	switch object.Kind + " " + object.Metadata.Name {
	case "ConfigMap hf":
		r.settings = decode[corev1.ConfigMap](t, name, document)
	case "ConfigMap hf-dashboard":
		r.dashboard = decode[corev1.ConfigMap](t, name, document)
	case "StatefulSet hf":
		r.nodes = decode[appsv1.StatefulSet](t, name, document)
	case "PodDisruptionBudget hf":
		r.budget = decode[policyv1.PodDisruptionBudget](t, name, document)
	case "NetworkPolicy hf":
		r.network = decode[networkingv1.NetworkPolicy](t, name, document)
	case "Service hf", "Service hf-nodes":
		r.services = append(r.services, decode[corev1.Service](t, name, document))
	case "ServiceMonitor hf":
		r.monitor = decode[monitoringv1.ServiceMonitor](t, name, document)
	case "PrometheusRule hf":
		r.rule = decode[monitoringv1.PrometheusRule](t, name, document)
	default:
		t.Fatalf("%s renders the unknown object %q:\n%s", name, object, document)
	}
}

func decode[T any](t *testing.T, name, document string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, document)
	}
	return object
}

const folder = "holdfast"

const (
	open      = "embedded: {allowRemote: true}\n"
	secured   = "embedded: {natsConfig: {secret: nats, user: holdfast}}\nenvironmentSecret: passwords\n"
	loggedIn  = "embedded: {auth: {secret: logins}, tls: {secret: certificates}}\nenvironmentSecret: passwords\n"
	external  = "external: {url: tls://nats:4222, credsSecret: creds, caSecret: ca}\n"
	monitored = "monitoring: {serviceMonitor: {enabled: true, labels: {release: prometheus}}, " +
		"prometheusRule: {enabled: true, labels: {release: prometheus}}, dashboard: {enabled: true}}\n"
	all = "embedded: {auth: {secret: logins}, tls: {secret: certificates, membersSecret: members}}\n" +
		"environmentSecret: passwords\nfilesSecret: files\ntenants: {ORDERS: {max-held: 1000000, max-ttl: 1h}}\n" +
		"http: {tls: {secret: certificates}, page: actions}\n" + monitored +
		"imagePullSecrets: [{name: registry}]\nnodeSelector: {disk: ssd}\ntolerations: [{key: locks, operator: Exists}]\n" +
		"podAnnotations: {a: b}\naffinity: {nodeAffinity: {}}\n" +
		"settings: {max-ttl: 1h, max-held: 2000000, audit: /data/audit.log, log-level: warn}\n"
)

// variants are values of which each renders other objects.
var variants = map[string]string{
	"Open": open, "Secured": secured, "LoggedIn": loggedIn, "External": external, "All": all,
	"Monitored": open + monitored,
	"One":       open + "nodes: 1\n",
	"Class":     "embedded: {allowRemote: true, storage: {className: fast, size: 1Ti}}\n",
	"NKey": "embedded: {auth: {secret: logins, user: \"\"}, tls: {insecure: true}}\nfilesSecret: keys\n" +
		"settings: {nkey: /etc/holdfast/files/node.nk}\n",
}

// helm lint has nothing to say, not even a hint.
func TestLint(t *testing.T) {
	for name, values := range variants {
		for _, message := range lint.RunAll(folder, parse(t, values), "locks").Messages {
			t.Errorf("%s: %v", name, message)
		}
	}
}

// Pods pass the strictest profile of Pod Security, cannot write to the image, and get no token of the API.
func TestPodSecurity(t *testing.T) {
	for name, values := range variants {
		r, err := render(t, values)
		must(t, err)
		wantRestricted(t, name, &r.nodes.Spec.Template)
	}
}

func wantRestricted(t *testing.T, name string, pod *corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
	if !result.Allowed {
		t.Errorf("%s: %s", name, result.ForbiddenDetail())
	}
	if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Errorf("%s: the pods have a token of the API", name)
	}
	if readOnly := pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
		t.Errorf("%s: the pods can write to the image", name)
	}
}

// What refers to something finds it: services and the budget the pods, ports their names, mounts their volumes.
func TestReferences(t *testing.T) {
	for name, values := range variants {
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
			if !slices.ContainsFunc(r.services, func(s *corev1.Service) bool { return s.Name == r.nodes.Spec.ServiceName }) {
				t.Errorf("there is no service %s", r.nodes.Spec.ServiceName)
			}
			for _, probe := range []*corev1.Probe{pod.Spec.Containers[0].ReadinessProbe,
				pod.Spec.Containers[0].LivenessProbe} {
				if probe == nil || probe.HTTPGet.Port.StrVal != "health" || !ports["health"] {
					t.Errorf("a probe is missing, or its port is not that of health: %v", probe)
				}
			}
			wantVolumes(t, r)
		})
	}
}

// The policy lets the namespace, or named peers, to NATS and to HTTP, and nodes to one another. Nobody is let to health:
// probes come from the host. Its ports are those of the pod.
func TestNetworkPolicy(t *testing.T) {
	named :=
		"networkPolicy: {monitoring: [{namespaceSelector: {matchLabels: {a: b}}}], clients: [{podSelector: " +
			"{matchLabels: {c: d}}}]}\n"
	for values, want := range map[string]string{
		open: "http from [pods map[]]; nats from [pods map[]]; " +
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

// The monitor selects the service of the nodes and no other, with a port of it; rules and dashboard are those of deploy.
func TestMonitoring(t *testing.T) {
	for values, scheme := range map[string]string{open + monitored: "", all: "https"} {
		r, err := render(t, values)
		must(t, err)
		endpoint := r.monitor.Spec.Endpoints[0]
		for _, s := range r.services {
			selected, isNodes := true, s.Name == r.nodes.Spec.ServiceName
			for key, value := range r.monitor.Spec.Selector.MatchLabels {
				selected = selected && s.Labels[key] == value
			}
			hasPort := slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == endpoint.Port })
			if selected != isNodes || hasPort != isNodes || s.Labels[r.monitor.Spec.JobLabel] != "hf" {
				t.Errorf("the service %s: selected %v, has the port %v, labels %v", s.Name, selected, hasPort, s.Labels)
			}
		}
		if got := endpoint.Scheme.String(); got != scheme || (endpoint.TLSConfig != nil) != (scheme == "https") {
			t.Errorf("scheme %q with %v, want %q", got, endpoint.TLSConfig, scheme)
		}
		if r.monitor.Labels["release"] != "prometheus" || r.rule.Labels["release"] != "prometheus" ||
			r.dashboard.Labels["grafana_dashboard"] != "1" {
			t.Errorf("labels %v, %v, %v", r.monitor.Labels, r.rule.Labels, r.dashboard.Labels)
		}
		want := decode[monitoringv1.PrometheusRuleSpec](t, "deploy", read(t, "../../deploy/prometheus/holdfast.rules.yml"))
		if len(want.Groups) == 0 || !reflect.DeepEqual(*want, r.rule.Spec) {
			t.Errorf("the rules are %v", r.rule.Spec)
		}
		dashboard := read(t, "../../deploy/grafana/holdfast.json")
		if got := r.dashboard.Data["holdfast.json"]; strings.TrimSpace(got) != strings.TrimSpace(dashboard) {
			t.Errorf("the dashboard is %s", got)
		}
	}
	r, err := render(t, open)
	must(t, err)
	if r.monitor != nil || r.rule != nil || r.dashboard != nil {
		t.Error("monitoring is rendered though it is off")
	}
}

// The image is that of the registry to which a release is published, with the version of the chart.
func TestImage(t *testing.T) {
	r, err := render(t, open)
	must(t, err)
	repository, tag, _ := strings.Cut(r.nodes.Spec.Template.Spec.Containers[0].Image, ":")
	if tag != "0.0.0" || !strings.Contains(read(t, "../../.ci/publish"), `"`+repository+":$number") {
		t.Errorf(".ci/publish does not push %s:%s", repository, tag)
	}
}

// own are the settings that the chart sets, except those of which the name is no setting of today.
var own = []string{
	"name", "listen", "data", "auth", "nats-config", "allow-remote", "cluster-listen", "routes", "replicas", "cluster-tls",
	"tls-ca", "server", "user", "password", "tenants", "http", "http-insecure", "http-tls", "http-page", "health", "tls-cert",
	"tls-key",
}

// Settings that the chart sets are refused in the map settings, in any case, and are settings of serve; all the others are
// accepted there.
func TestSettings(t *testing.T) {
	page := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(read(t, "../../docs/settings.md"), -1)
	var names []string
	for _, row := range page {
		names = append(names, row[1])
	}
	for _, name := range own {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no setting of serve", name)
		}
	}
	for _, name := range append(names, "config", "nats", "Listen") {
		refused := slices.Contains(own, strings.ToLower(name)) || name == "config" || name == "nats"
		r, err := render(t, open+"settings: {"+name+": x}\n")
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), "settings."+name+": the chart sets it from ")):
			t.Errorf("%s: %v", name, err)
		case !refused && (err != nil || !strings.Contains(r.settings.Data["holdfast.yaml"], "\n"+name+": x\n")):
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := render(t, all)
	must(t, err)
	for _, line := range []string{"max-held: 2000000", "log-level: warn", "log-format: json", "http-page: actions"} {
		if text := "\n" + r.settings.Data["holdfast.yaml"]; !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the settings have no %q:%s", line, text)
		}
	}
	if got := r.settings.Data["tenants.yaml"]; got != "ORDERS:\n  max-held: 1000000\n  max-ttl: 1h\n" {
		t.Errorf("the tenants are %s", got)
	}
}

// A refusal names the value, the rule and the way out.
func TestRefusals(t *testing.T) {
	const passwords = "environmentSecret: x\n"
	for name, c := range map[string]struct{ values, want string }{
		"NoWay":   {"", "set embedded.auth.secret"},
		"TwoNATS": {open + "external: {url: nats://nats:4222}\n", "set one of them"},
		"TwoLogins": {"external: {url: nats://nats:4222, credsSecret: creds, user: me}\n" + passwords,
			"two ways to log in"},
		"AuthAndURL": {"embedded: {auth: {secret: logins}}\nexternal: {url: nats://nats:4222}\n" + passwords,
			"set one of them"},
		"AuthAndConfig": {"embedded: {auth: {secret: logins}, natsConfig: {secret: nats}}\n" + passwords,
			"leave them out"},
		"MembersAndConfig": {"embedded: {tls: {membersSecret: m}, natsConfig: {secret: nats}}\n", "leave them out"},
		"AuthAndRemote": {"embedded: {auth: {secret: logins}, allowRemote: true}\n" + passwords,
			"leave it out"},
		"AuthNoTLS": {"embedded: {auth: {secret: logins}}\n" + passwords,
			"embedded.auth.secret: logins need TLS, or their passwords can be read on the network: " +
				"set embedded.tls.secret"},
		"InsecureTLS": {"embedded: {auth: {secret: logins}, tls: {secret: tls, insecure: true}}\n" + passwords,
			"embedded.tls.insecure is for logins without TLS"},
		"NoUser": {"embedded: {auth: {secret: logins, user: \"\"}, tls: {secret: tls}}\n" + passwords,
			"embedded.auth.user: nodes log in in one way"},
		"UserAndNKey": {loggedIn + "settings: {nkey: /etc/holdfast/files/n}\n",
			"embedded.auth.user: nodes log in in one way"},
		"AuthNoPassword": {"embedded: {auth: {secret: logins}, tls: {secret: tls}}\n",
			"the user holdfast of the nodes needs a password: set environmentSecret"},
		"ConfigAndRemote": {"embedded: {allowRemote: true, natsConfig: {secret: nats}}\n", "leave them out"},
		"NoPassword":      {"embedded: {natsConfig: {secret: nats, user: holdfast}}\n", "set environmentSecret"},
		"TenantsAndRemote": {open + "tenants: {ORDERS: {}}\n",
			"tenants: without logins there are no accounts: leave it out"},
		"Actions": {open + "http: {page: actions}\n",
			"http.page: actions need TLS, or a web site could break locks through a name that leads to the nodes: set http.tls"},
		"AuditAndURL": {external + "settings: {audit: /data/audit.log}\n",
			"settings.audit: with external.url the nodes have no volume"},
		"Creds":    {external + "settings: {creds: x}\n", "settings.creds: the chart sets it from external.credsSecret"},
		"Page":     {open + "http: {page: auto}\n", "'/http/page': value must be one of 'off', 'read', 'actions'"},
		"Nodes":    {open + "nodes: 2\n", "'/nodes': value must be one of 1, 3, 5"},
		"Misspelt": {open + "node: 3\n", "additional properties 'node' not allowed"},
		"Deep":     {open + "monitoring: {serviceMonitor: {enable: true}}\n", "additional properties 'enable' not allowed"},
		"Limit":    {open + "resources: {limit: {memory: 1Gi}}\n", "additional properties 'limit' not allowed"},
		"Peer":     {open + "networkPolicy: {clients: [{pods: {}}]}\n", "additional properties 'pods' not allowed"},
		"Secret":   {"embedded: {auth: {secret: My_Secret}}\n", "/embedded/auth/secret"},
		"Setting":  {open + "settings: {max_held: 1}\n", "max_held"},
		"Interval": {open + "monitoring: {serviceMonitor: {interval: 15}}\n", "/monitoring/serviceMonitor/interval"},
		"URL":      {"external: {url: \"nats:4222\"}\n", "/external/url"},
		"Size":     {"embedded: {allowRemote: true, storage: {size: big}}\n", "/embedded/storage/size"},
		"Replicas": {"external: {url: nats://nats:4222, replicas: 6}\n", "maximum"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render(t, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("rendered with %v, want %q", err, c.want)
			}
		})
	}
}

// The schedule of backups that docs/kubernetes.md shows passes Pod Security too.
func TestSchedule(t *testing.T) {
	pod := decode[batchv1.CronJob](t, "docs/kubernetes.md", schedule(t)).Spec.JobTemplate.Spec.Template
	wantRestricted(t, "the schedule", &pod)
}

// schedule returns the schedule of backups that docs/kubernetes.md shows.
func schedule(t *testing.T) string {
	t.Helper()
	block := regexp.MustCompile("(?s)```yaml\n(apiVersion: batch/v1\n.*?)```").FindStringSubmatch(
		read(t, "../../docs/kubernetes.md"))
	if block == nil {
		t.Fatal("docs/kubernetes.md shows no schedule of backups")
	}
	return block[1]
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
