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
configurationName: {{ include "quotree.fullname" $ }}
edits:
  configMap: {{ include "quotree.fullname" $ }}-edits
  {{- toYaml .edits | nindent 2 }}
certificates:
  source: {{ .certificates.source }}
  secretName: {{ include "quotree.webhookSecret" $ }}
  service: {{ include "quotree.fullname" $ }}-webhook
  leafLife: {{ .certificates.leafLife }}
  authorityLife: {{ .certificates.authorityLife }}
  overlap: {{ .certificates.overlap }}
  names: {{ .certificates.names | toJson }}
callers:
  by: {{ .callers.by }}
  secretName: {{ include "quotree.pathSecret" $ }}
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
leaderElection: {namespace: {{ $.Release.Namespace }}, name: {{ include "quotree.fullname" $ }}-reconciler}
visibility:
  enabled: {{ $.Values.visibility.enabled }}
  port: {{ $.Values.visibility.port }}
  secretName: {{ include "quotree.visibilitySecret" $ }}
  service: {{ include "quotree.fullname" $ }}-visibility
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
