{{/* The kinds as both processes read them. */}}
{{- define "quotree.kinds.settings" -}}
{{- $kinds := concat (include "quotree.integrations" . | fromYamlArray) .Values.kinds -}}
{{- if $kinds }}
kinds: {{- toYaml $kinds | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "quotree.webhook.settings" -}}
{{- with .Values.webhook -}}
listen: {port: {{ .port }}}
health: {port: {{ .healthPort }}}
metrics: {{- toYaml $.Values.metrics | nindent 2 }}
log: {level: {{ .logLevel }}}
namespace: {{ $.Release.Namespace }}
reconcilerUser: {{ include "quotree.reconcilerUser" $ | quote }}
neverFits: {{ .neverFits }}
guardVisibility: {{ $.Values.visibility.enabled }}
jobControllers: {{ .jobControllers | toJson }}
edits: {{- toYaml .edits | nindent 2 }}
certificates:
  source: {{ .certificates.source }}
  secretName: {{ .certificates.secretName }}
  leafLife: {{ .certificates.leafLife }}
  authorityLife: {{ .certificates.authorityLife }}
  overlap: {{ .certificates.overlap }}
  names: {{ .certificates.names | toJson }}
callers:
  by: {{ .callers.by }}
  secretName: {{ .callers.secretName }}
  {{- if eq .callers.by "Certificate" }}
  clientCA: /etc/quotree-callers/ca.crt
  {{- end }}
drain: {{ .drain }}
quota: {{- toYaml $.Values.quota | nindent 2 }}
{{- include "quotree.kinds.settings" $ }}
{{- end -}}
{{- end -}}

{{- define "quotree.reconciler.settings" -}}
{{- with .Values.reconciler -}}
health: {port: {{ .healthPort }}}
metrics: {{- toYaml $.Values.metrics | nindent 2 }}
log: {level: {{ .logLevel }}}
leaderElection: {namespace: {{ $.Release.Namespace }}}
visibility:
  enabled: {{ $.Values.visibility.enabled }}
  port: {{ $.Values.visibility.port }}
  secretName: {{ $.Values.visibility.secretName }}
quota: {{- toYaml $.Values.quota | nindent 2 }}
{{- include "quotree.kinds.settings" $ }}
{{- end -}}
{{- end -}}

{{- define "quotree.dashboard.settings" -}}
{{- with .Values.dashboard -}}
listen: {port: {{ .port }}}
health: {port: {{ .healthPort }}}
metrics: {{- toYaml $.Values.metrics | nindent 2 }}
log: {level: {{ .logLevel }}}
quota: {{- toYaml $.Values.quota | nindent 2 }}
{{- include "quotree.kinds.settings" $ }}
{{- end -}}
{{- end -}}
