{{- define "quotree.labels" -}}
app.kubernetes.io/name: quotree
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "quotree.selector" -}}
app.kubernetes.io/name: quotree
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "quotree.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The user name under which decisions are written: the one the webhook and the policy let through. */}}
{{- define "quotree.reconcilerUser" -}}
{{- .Values.reconciler.user | default (printf "system:serviceaccount:%s:quotree-reconciler" .Release.Namespace) -}}
{{- end -}}

{{/* Where the API server finds the webhook; call with root and path. */}}
{{- define "quotree.clientConfig" -}}
{{- if .root.Values.webhook.url }}
url: {{ printf "%s%s" (trimSuffix "/" .root.Values.webhook.url) .path | quote }}
{{- else }}
service:
  name: quotree-webhook
  namespace: {{ .root.Release.Namespace }}
  path: {{ .path }}
  port: 443
{{- end }}
{{- with .root.Values.webhook.caBundle }}
caBundle: {{ . }}
{{- end }}
{{- end -}}

{{/* Namespaces that may never be blocked: the system's and Quotree's own. */}}
{{- define "quotree.namespaceExclusions" -}}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values: {{ concat (list "kube-system" "kube-node-lease" "kube-public" .Release.Namespace) .Values.excludedNamespaces | uniq | toJson }}
{{- end -}}

{{- define "quotree.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "quotree.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Standard probes and the downward API; call with the component's values. */}}
{{- define "quotree.probes" -}}
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
startupProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 2
  failureThreshold: 30
{{- end -}}

{{- define "quotree.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "quotree.selector" . | nindent 8 }}
{{- end -}}
