{{- define "genway.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "genway.tag" -}}{{ .Values.images.tag | default .Chart.AppVersion }}{{- end }}

{{/* The image of one program. Call with (dict "root" $ "program" "core"). */}}
{{- define "genway.image" -}}
{{- $of := get .root.Values.images .program -}}
{{- $path := printf "%s/%s" (.root.Values.images.registry | trimSuffix "/") $of.repository | trimPrefix "/" -}}
{{- if $of.digest }}{{ $path }}@{{ $of.digest }}{{ else }}{{ $path }}:{{ include "genway.tag" .root }}{{ end }}
{{- end }}

{{/* What selects the pods of a component. Call with (dict "root" $ "component" "core"). */}}
{{- define "genway.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "genway.labels" -}}
{{ include "genway.selector" . }}
app.kubernetes.io/version: {{ include "genway.tag" .root | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "genway.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "genway.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* The labels and annotations of a pod's template. Call as genway.selector; checksums are those of what the pod reads at its start alone. */}}
{{- define "genway.podMetadata" -}}
labels:
  {{- include "genway.labels" . | nindent 2 }}
  {{- with .root.Values.pod.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.pod.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the specification of every pod begins with. */}}
{{- define "genway.podSpec" -}}
serviceAccountName: {{ include "genway.serviceAccount" . }}
automountServiceAccountToken: false
{{- with .Values.pod.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.pod.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
securityContext:
  {{- $default := dict "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "fsGroup" 65532 "seccompProfile" (dict "type" "RuntimeDefault") }}
  {{- toYaml (mergeOverwrite $default .Values.pod.securityContext) | nindent 2 }}
{{- end }}

{{- define "genway.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Spread over hosts. Call as genway.selector. */}}
{{- define "genway.spread" -}}
{{- if (get .root.Values .component).topologySpread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "genway.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* Settings as variables, and what every container gets. Call as genway.selector. */}}
{{- define "genway.env" -}}
{{- range $name, $value := (get .root.Values .component).settings }}
- {name: {{ printf "GENWAY_%s" $name }}, value: {{ $value | quote }}}
{{- end }}
{{- include "genway.extraEnv" .root }}
{{- end }}

{{/* The console's variables. */}}
{{- define "genway.consoleEnv" -}}
{{- if .Values.console.enabled }}
{{- $api := printf "%s://%s.%s.svc:%v" (ternary "https" "http" (ne .Values.tls.http.existingSecret "")) (include "genway.name" .) .Release.Namespace .Values.edge.service.port }}
{{- if .Values.ingress.enabled }}
{{- $api = printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host }}
{{- end }}
- {name: GENWAY_CONSOLE, value: ":8088"}
- {name: GENWAY_CONSOLE_API, value: {{ default $api .Values.console.api | quote }}}
{{- with .Values.console.host }}
- {name: GENWAY_CONSOLE_HOSTS, value: {{ . | quote }}}
- {name: GENWAY_CONSOLE_URL, value: {{ printf "%s://%s" (ternary "https" "http" (ne $.Values.console.ingress.tlsSecret "")) . | quote }}}
{{- end }}
{{- else }}
- {name: GENWAY_CONSOLE, value: "off"}
{{- end }}
{{- end }}

{{- define "genway.extraEnv" -}}
{{- with .Values.pod.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "genway.envFrom" -}}
{{- with .Values.pod.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where the store is: a variable from a secret; nothing for the SQLite file. */}}
{{- define "genway.storeEnv" -}}
{{- if .Values.store.existingSecret.name }}
- name: GENWAY_STORE
  valueFrom: {secretKeyRef: {name: {{ .Values.store.existingSecret.name }}, key: {{ .Values.store.existingSecret.key }}}}
{{- else if .Values.store.url }}
- name: GENWAY_STORE
  valueFrom: {secretKeyRef: {name: {{ include "genway.name" . }}-store, key: url}}
{{- else if eq .Values.mode "apart" }}
{{- fail "store.existingSecret.name or store.url is missing: cores in pods of their own share a PostgreSQL. With mode: single an SQLite file on a volume will do" }}
{{- end }}
{{- end }}

{{- define "genway.onFile" -}}{{ if not (or .Values.store.existingSecret.name .Values.store.url) }}true{{ end }}{{- end }}

{{/* The journal and the SQLite file are below it. */}}
{{- define "genway.dataEnv" -}}
- {name: GENWAY_DATA, value: /data}
- {name: GENWAY_CONFIG, value: /etc/genway/config/genway.yaml}
- {name: GENWAY_LOG_FORMAT, value: json}
- {name: GENWAY_METRICS_LISTEN, value: ":9464"}
{{- end }}

{{/* The configuration, with the file of the keys for captured bodies where the chart mounts one. */}}
{{- define "genway.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.captures.existingSecret.name -}}
{{- $captures := dict "captures" (dict "key_file" "/etc/genway/captures/capture.keys") -}}
{{- $config = mergeOverwrite $captures $config -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* The file with the keys that captured bodies are encrypted by. */}}
{{- define "genway.capturesVolume" -}}
{{- with .Values.captures.existingSecret }}{{ if .name }}
- name: captures
  secret:
    secretName: {{ .name }}
    items: [{key: {{ .key }}, path: capture.keys}]
{{- end }}{{ end }}
{{- end }}

{{- define "genway.configVolume" -}}
- name: config
  {{- if .Values.existingConfig.secret }}
  secret: {secretName: {{ .Values.existingConfig.secret }}}
  {{- else }}
  configMap: {name: {{ .Values.existingConfig.configMap | default (include "genway.name" .) }}}
  {{- end }}
{{- end }}

{{- define "genway.edgeSecretVolume" -}}
- name: edge-secret
  secret:
    {{- if .Values.edgeSecret.existingSecret.name }}
    secretName: {{ .Values.edgeSecret.existingSecret.name }}
    items: [{key: {{ .Values.edgeSecret.existingSecret.key }}, path: edge-secret}]
    {{- else }}
    secretName: {{ include "genway.name" . }}-edge-secret
    items: [{key: edge-secret, path: edge-secret}]
    {{- end }}
{{- end }}

{{- define "genway.extraVolumes" -}}
{{- with .Values.pod.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "genway.extraMounts" -}}
{{- with .Values.pod.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "genway.migrates" -}}{{ if and .Values.migrate.job (not (include "genway.onFile" .)) }}true{{ end }}{{- end }}

{{/* A container of genway that asks the store. Call with (dict "root" $ "name" "migrate" "args" (list "migrate" "up")). */}}
{{- define "genway.command" -}}
- name: {{ .name }}
  image: {{ include "genway.image" (dict "root" .root "program" "genway") }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  args: {{ toJson .args }}
  {{- include "genway.envFrom" .root | nindent 2 }}
  env:
    {{- include "genway.storeEnv" .root | nindent 4 }}
    {{- include "genway.extraEnv" .root | nindent 4 }}
  resources:
    {{- toYaml .root.Values.migrate.resources | nindent 4 }}
  {{- include "genway.containerSecurity" .root | nindent 2 }}
  {{- with .root.Values.pod.extraVolumeMounts }}
  volumeMounts:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* The specification of a pod with such a container. Call as genway.command. */}}
{{- define "genway.commandPod" -}}
{{- include "genway.podSpec" .root }}
restartPolicy: {{ .restart }}
containers:
  {{- include "genway.command" . | nindent 2 }}
{{- with .root.Values.pod.extraVolumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The pod of the migration's job. Call with the root. */}}
{{- define "genway.migratePod" -}}
metadata:
  {{- include "genway.podMetadata" (dict "root" . "component" "migrate") | nindent 2 }}
spec:
  {{- include "genway.commandPod" (dict "root" . "name" "migrate" "args" (list "migrate" "up") "restart" "OnFailure") | nindent 2 }}
{{- end }}

{{/* Cores wait for the migration's job. Call with the root. */}}
{{- define "genway.waitForSchema" -}}
{{- if include "genway.migrates" . }}
initContainers:
  {{- include "genway.command" (dict "root" . "name" "schema" "args" (list "migrate" "wait" "--timeout" "10m")) | nindent 2 }}
{{- end }}
{{- end }}

{{/* Probes at the port of the metrics, which never has TLS. */}}
{{- define "genway.probes" -}}
startupProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 1, failureThreshold: 60}
livenessProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 10, timeoutSeconds: 3}
readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 2}
{{- end }}
