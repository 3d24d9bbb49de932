{{/*
The quota settings as both processes read them. What is null has the default of a new release, or what an upgraded release had:
a new default must not change what a cluster does. Without a cluster to ask (`helm template`), it is taken for a new release.
*/}}
{{- define "quotree.quota" -}}
{{- $quota := deepCopy .Values.quota -}}
{{- $before := dict "openGroups" true "unlabelledNamespaces" "Allow" -}}
{{- range $component := list "webhook" "reconciler" -}}
{{- $known := lookup "v1" "ConfigMap" $.Release.Namespace (printf "%s-%s" (include "quotree.fullname" $) $component) | default dict -}}
{{- with dig "data" (printf "%s.yaml" $component) "" $known -}}
{{- $before = mergeOverwrite $before ((fromYaml .).quota | default dict) -}}
{{- end -}}
{{- end -}}
{{- $new := dict "openGroups" false "unlabelledNamespaces" "Deny" "reclaim" (dict "maxTerminationGracePeriod" "5m") -}}
{{- $default := ternary $before $new .Release.IsUpgrade -}}
{{- range $key := list "openGroups" "unlabelledNamespaces" -}}
{{- if or (not (hasKey $quota $key)) (kindIs "invalid" (get $quota $key)) }}{{ $_ := set $quota $key (get $default $key) }}{{ end -}}
{{- end -}}
{{- $reclaim := $quota.reclaim | default dict -}}
{{- if not $reclaim.maxTerminationGracePeriod -}}
{{- $reclaim = omit $reclaim "maxTerminationGracePeriod" -}}
{{- with dig "reclaim" "maxTerminationGracePeriod" "" $default }}{{ $_ := set $reclaim "maxTerminationGracePeriod" . }}{{ end -}}
{{- end -}}
{{- $_ := set $quota "reclaim" $reclaim -}}
{{- $quota | toYaml -}}
{{- end -}}

{{/* The kinds as both processes read them. */}}
{{- define "quotree.kinds.settings" -}}
{{- $kinds := concat (include "quotree.integrations" . | fromYamlArray) .Values.kinds -}}
{{- if $kinds }}
kinds: {{- toYaml $kinds | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "quotree.webhook.settings" -}}
{{- with .Values.webhook -}}
listen: {port: {{ .port }}, maxWaiting: {{ .maxWaiting }}}
health: {port: {{ .healthPort }}}
metrics: {{- toYaml $.Values.metrics | nindent 2 }}
log: {level: {{ .logLevel }}}
namespace: {{ $.Release.Namespace }}
reconcilerUser: {{ include "quotree.reconcilerUser" $ | quote }}
neverFits: {{ .neverFits }}
guardVisibility: {{ $.Values.visibility.enabled }}
dialects: {systems: {{ $.Values.dialects | toJson }}, queueGroups: {{ $.Values.queueGroups | toJson }}}
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
quota: {{- include "quotree.quota" $ | nindent 2 }}
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
{{- with $.Values.accounts }}
accounts: {keep: {{ .keep }}, timeZone: {{ .timeZone }}}
{{- end }}
{{- with $.Values.recording }}{{ if .enabled }}
recording: {enabled: true, folder: /var/lib/quotree/recording, maxSize: {{ .maxSize | quote }}}
{{- end }}{{ end }}
quota: {{- include "quotree.quota" $ | nindent 2 }}
{{- include "quotree.kinds.settings" $ }}
{{- end -}}
{{- end -}}

{{- define "quotree.dashboard.settings" -}}
{{- with .Values.dashboard -}}
listen: {port: {{ .port }}}
lease: {{ include "quotree.fullname" $ }}-reconciler
health: {port: {{ .healthPort }}}
metrics: {{- toYaml $.Values.metrics | nindent 2 }}
log: {level: {{ .logLevel }}}
quota: {{- include "quotree.quota" $ | nindent 2 }}
{{- include "quotree.kinds.settings" $ }}
{{- end -}}
{{- end -}}
