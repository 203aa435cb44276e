{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The chart refuses what a schema cannot: settings that contradict one another. */ -}}
{{- define "holdfast.check" -}}
{{- $config := .Values.embedded.natsConfig -}}
{{- $auth := .Values.embedded.auth -}}
{{- $tls := .Values.embedded.tls -}}
{{- if .Values.external.url -}}
  {{- if or $config.secret $auth.secret $tls.secret .Values.embedded.allowRemote -}}
    {{- fail "external.url is for an existing NATS, embedded.auth.secret, embedded.tls.secret, embedded.natsConfig.secret and embedded.allowRemote for a NATS in the nodes: set one of them" -}}
  {{- end -}}
  {{- if and .Values.external.credsSecret .Values.external.user -}}
    {{- fail "external.credsSecret and external.user are two ways to log in: set one of them" -}}
  {{- end -}}
{{- else if and $config.secret (or $auth.secret $tls.secret .Values.embedded.allowRemote) -}}
  {{- fail "embedded.auth, embedded.tls and embedded.allowRemote are for nodes without a NATS configuration: leave them out, or embedded.natsConfig.secret" -}}
{{- else if and $auth.secret .Values.embedded.allowRemote -}}
  {{- fail "embedded.allowRemote is for nodes without logins: leave it out, or embedded.auth.secret" -}}
{{- else if not (or $config.secret $auth.secret .Values.embedded.allowRemote) -}}
  {{- fail "clients need a way to NATS: set embedded.auth.secret to a Secret with their logins, embedded.natsConfig.secret to one with a NATS configuration, embedded.allowRemote=true to accept every pod without login, or external.url to use an existing NATS" -}}
{{- end -}}
{{- if and (or $auth.secret $config.user .Values.external.user) (not .Values.environmentSecret) -}}
  {{- fail "a user needs a password: set environmentSecret to a Secret with the key HOLDFAST_PASSWORD" -}}
{{- end -}}
{{- end }}

{{- /* The settings of serve, in the form of its configuration file. */ -}}
{{- define "holdfast.settings" -}}
{{- /* Probes come from the host of the pod; metrics and health have no secrets. */ -}}
{{- $settings := dict "log-format" "json" "http" "0.0.0.0:8422" "http-insecure" true -}}
{{- if .Values.external.url -}}
  {{- $_ := set $settings "server" .Values.external.url -}}
  {{- $_ := set $settings "replicas" .Values.external.replicas -}}
  {{- if .Values.external.credsSecret }}{{ $_ := set $settings "creds" "/etc/holdfast/creds/nats.creds" }}{{ end -}}
  {{- if .Values.external.caSecret }}{{ $_ := set $settings "tls-ca" "/etc/holdfast/ca/ca.crt" }}{{ end -}}
  {{- if .Values.external.user }}{{ $_ := set $settings "user" .Values.external.user }}{{ end -}}
{{- else -}}
  {{- $_ := set $settings "replicas" (min 3 (int .Values.nodes)) -}}
  {{- if .Values.embedded.natsConfig.secret -}}
    {{- $_ := set $settings "nats-config" "/etc/holdfast/nats/nats.conf" -}}
    {{- if .Values.embedded.natsConfig.user }}{{ $_ := set $settings "user" .Values.embedded.natsConfig.user }}{{ end -}}
  {{- else -}}
    {{- if .Values.embedded.auth.secret -}}
      {{- $_ := set $settings "auth" "/etc/holdfast/auth/auth.conf" -}}
      {{- $_ := set $settings "user" .Values.embedded.auth.user -}}
    {{- else -}}
      {{- $_ := set $settings "allow-remote" true -}}
    {{- end -}}
    {{- if .Values.embedded.tls.secret -}}
      {{- $_ := set $settings "tls-cert" "/etc/holdfast/tls/tls.crt" -}}
      {{- $_ := set $settings "tls-key" "/etc/holdfast/tls/tls.key" -}}
      {{- $_ := set $settings "tls-ca" "/etc/holdfast/tls/ca.crt" -}}
    {{- end -}}
    {{- $_ := set $settings "listen" "0.0.0.0:4222" -}}
    {{- $_ := set $settings "data" "/data" -}}
    {{- if gt (int .Values.nodes) 1 -}}
      {{- $_ := set $settings "cluster-listen" "0.0.0.0:6222" -}}
      {{- $routes := list -}}
      {{- range $n := until (int .Values.nodes) -}}
        {{- $routes = append $routes (printf "%s-%d.%s-nodes:6222" $.Release.Name $n $.Release.Name) -}}
      {{- end -}}
      {{- $_ := set $settings "routes" $routes -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- merge $settings .Values.settings | toYaml -}}
{{- end }}
