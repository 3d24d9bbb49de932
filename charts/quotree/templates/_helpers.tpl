{{/* The label app.kubernetes.io/name of every object. */}}
{{- define "quotree.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{/* What every object's name begins with. Not the release's name: there is one Quotree in a cluster. */}}
{{- define "quotree.fullname" -}}
{{- .Values.fullnameOverride | default "quotree" -}}
{{- end -}}

{{- define "quotree.webhookSecret" -}}
{{- .Values.webhook.certificates.secretName | default (printf "%s-webhook-tls" (include "quotree.fullname" .)) -}}
{{- end -}}

{{- define "quotree.pathSecret" -}}
{{- .Values.webhook.callers.secretName | default (printf "%s-webhook-path" (include "quotree.fullname" .)) -}}
{{- end -}}

{{- define "quotree.visibilitySecret" -}}
{{- .Values.visibility.secretName | default (printf "%s-visibility-tls" (include "quotree.fullname" .)) -}}
{{- end -}}

{{- define "quotree.labels" -}}
app.kubernetes.io/name: {{ include "quotree.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "quotree.selector" -}}
app.kubernetes.io/name: {{ include "quotree.name" .root }}
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
{{- .Values.reconciler.user | default (printf "system:serviceaccount:%s:%s-reconciler" .Release.Namespace (include "quotree.fullname" .)) -}}
{{- end -}}

{{/* Who has a component's rights: its service account, or the user it runs as elsewhere; call with root and component. */}}
{{- define "quotree.subjects" -}}
{{- $values := index .root.Values .component -}}
{{- if $values.user }}
- {kind: User, name: {{ $values.user | quote }}, apiGroup: rbac.authorization.k8s.io}
{{- else }}
- {kind: ServiceAccount, name: {{ include "quotree.fullname" .root }}-{{ .component }}, namespace: {{ .root.Release.Namespace }}}
{{- end }}
{{- end -}}

{{/* What a process asks the API server about readers of its metrics. */}}
{{- define "quotree.readerRules" -}}
{{- if eq .Values.metrics.authorization "Token" }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end -}}

{{/* Where the page of an alert is: (list $ "AlertName"). */}}
{{- define "quotree.runbook" -}}
{{- $values := (index . 0).Values -}}
{{- $anchor := index . 1 | lower -}}
runbook: docs/alerts.md#{{ $anchor }}
{{- with $values.prometheusRule.runbookUrl }}
runbook_url: {{ printf "%s#%s" . $anchor | quote }}
{{- end }}
{{- end }}
