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

{{- /* Settings that come from values of their own, each with its value. */ -}}
{{- define "holdfast.own" -}}
name: the name of the pod
config: settings
listen: the port 4222
data: embedded.storage
auth: embedded.auth.secret
nats-config: embedded.natsConfig.secret
allow-remote: embedded.allowRemote
cluster-listen: nodes
routes: nodes
replicas: nodes, or external.replicas
cluster-tls: embedded.tls.membersSecret
tls-ca: embedded.tls.secret, or external.caSecret
server: external.url
nats: external.url
user: embedded.auth.user, embedded.natsConfig.user, or external.user
password: environmentSecret
tenants: tenants
http: the port 8422
http-insecure: http.tls.secret
http-tls: http.tls.secret
http-page: http.page
health: the port 8423
{{- if .Values.external.url }}
creds: external.credsSecret
{{- else }}
tls-cert: embedded.tls.secret
tls-key: embedded.tls.secret
{{- end }}
{{- end }}

{{- /* The chart refuses what a schema cannot: settings that contradict one another, and what is not safe unless it is
chosen. A message has the value, the rule and a way out. */ -}}
{{- define "holdfast.check" -}}
{{- $config := .Values.embedded.natsConfig -}}
{{- $auth := .Values.embedded.auth -}}
{{- $tls := .Values.embedded.tls -}}
{{- $open := .Values.embedded.allowRemote -}}
{{- $settings := .Values.settings -}}
{{- range $name, $from := include "holdfast.own" . | fromYaml -}}
  {{- range $key := keys $settings -}}
    {{- if eq (lower $key) $name -}}
      {{- fail (printf "settings.%s: the chart sets it from %s: remove it from settings" $key $from) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if .Values.external.url -}}
  {{- if or $config.secret $auth.secret $tls.secret $tls.membersSecret $open -}}
    {{- fail "external.url is for an existing NATS, embedded.auth, embedded.tls, embedded.natsConfig and embedded.allowRemote for a NATS in the nodes: set one of them" -}}
  {{- end -}}
  {{- if and .Values.external.credsSecret .Values.external.user -}}
    {{- fail "external.credsSecret and external.user are two ways to log in: set one of them" -}}
  {{- end -}}
  {{- if $settings.audit -}}
    {{- fail "settings.audit: with external.url the nodes have no volume for a file: leave it out, the log has the same lines" -}}
  {{- end -}}
{{- else if and $config.secret (or $auth.secret $tls.secret $tls.membersSecret $open) -}}
  {{- fail "embedded.auth, embedded.tls and embedded.allowRemote are for nodes without a NATS configuration: leave them out, or embedded.natsConfig.secret" -}}
{{- else if and $auth.secret $open -}}
  {{- fail "embedded.allowRemote is for nodes without logins: leave it out, or embedded.auth.secret" -}}
{{- else if not (or $config.secret $auth.secret $open) -}}
  {{- fail "clients need a way to NATS: set embedded.auth.secret to a Secret with their logins, embedded.natsConfig.secret to one with a NATS configuration, embedded.allowRemote=true to accept every pod without login, or external.url to use an existing NATS" -}}
{{- else if $auth.secret -}}
  {{- if and $tls.secret $tls.insecure -}}
    {{- fail "embedded.tls.insecure is for logins without TLS: leave it out, or embedded.tls.secret" -}}
  {{- else if not (or $tls.secret $tls.insecure) -}}
    {{- fail "embedded.auth.secret: logins need TLS, or their passwords can be read on the network: set embedded.tls.secret to a Secret with tls.crt, tls.key and ca.crt, or embedded.tls.insecure=true if the network encrypts itself" -}}
  {{- end -}}
  {{- if ne 1 (len (compact (list $auth.user $settings.nkey $settings.creds))) -}}
    {{- fail "embedded.auth.user: nodes log in in one way: set it to their user, or to an empty string with settings.nkey or settings.creds, a file of filesSecret" -}}
  {{- end -}}
{{- end -}}
{{- $user := or .Values.external.user $config.user (and $auth.secret $auth.user) -}}
{{- if and $user (not .Values.environmentSecret) -}}
  {{- fail (printf "the user %s of the nodes needs a password: set environmentSecret to a Secret with the key HOLDFAST_PASSWORD" $user) -}}
{{- end -}}
{{- if and .Values.tenants $open -}}
  {{- fail "tenants: without logins there are no accounts: leave it out, or set embedded.auth.secret in the place of embedded.allowRemote" -}}
{{- end -}}
{{- if and (eq .Values.http.page "actions") (not .Values.http.tls.secret) -}}
  {{- fail "http.page: actions need TLS, or a web site could break locks through a name that leads to the nodes: set http.tls.secret to a Secret with tls.crt and tls.key, or http.page=read" -}}
{{- end -}}
{{- end }}

{{- /* The Secrets that are mounted, by their folders in /etc/holdfast. */ -}}
{{- define "holdfast.secrets" -}}
{{- $all := dict "files" .Values.filesSecret "http" .Values.http.tls.secret -}}
{{- if .Values.external.url -}}
  {{- $all = merge $all (dict "creds" .Values.external.credsSecret "ca" .Values.external.caSecret) -}}
{{- else -}}
  {{- with .Values.embedded -}}
    {{- $all = merge $all (dict "auth" .auth.secret "tls" .tls.secret "members" .tls.membersSecret "nats" .natsConfig.secret) -}}
  {{- end -}}
{{- end -}}
{{- range $name, $secret := $all }}
{{- if $secret }}
{{ $name }}: {{ $secret | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The files of a Secret with a certificate, in a folder of the pod. */ -}}
{{- define "holdfast.certificate" -}}
{{- printf "%s/tls.crt,%s/tls.key" . . -}}
{{- end }}

{{- /* The settings of serve, in the form of its configuration file. */ -}}
{{- define "holdfast.settings" -}}
{{- /* Probes come from the host of the pod. */ -}}
{{- $settings := dict "http" "0.0.0.0:8422" "http-page" .Values.http.page "health" "0.0.0.0:8423" -}}
{{- if .Values.http.tls.secret -}}
  {{- $_ := set $settings "http-tls" (include "holdfast.certificate" "/etc/holdfast/http") -}}
{{- else -}}
  {{- $_ := set $settings "http-insecure" true -}}
{{- end -}}
{{- if .Values.tenants }}{{ $_ := set $settings "tenants" "/etc/holdfast/settings/tenants.yaml" }}{{ end -}}
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
      {{- if .Values.embedded.auth.user }}{{ $_ := set $settings "user" .Values.embedded.auth.user }}{{ end -}}
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
      {{- if .Values.embedded.tls.membersSecret -}}
        {{- $_ := set $settings "cluster-tls" (print (include "holdfast.certificate" "/etc/holdfast/members") ",/etc/holdfast/members/ca.crt") -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- merge $settings .Values.settings (dict "log-format" "json") | toYaml -}}
{{- end }}
