{{/* A duration such as 1m30s in milliseconds; call with the text. */}}
{{- define "quotree.milliseconds" -}}
{{- $total := 0.0 -}}
{{- $units := dict "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 -}}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $total = addf $total (mulf (float64 (trimSuffix $unit .)) (get $units $unit)) -}}
{{- end -}}
{{- int64 $total -}}
{{- end -}}

{{/* Values that contradict each other: refused here, because the schema sees one value at a time. */}}
{{- define "quotree.guards" -}}
{{- $webhook := .Values.webhook -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository is empty: set it to where your nodes can pull the image from, such as registry.example.com/team/quotree (docs/install.md)" -}}
{{- end -}}
{{- range $value := list "commonLabels" "podLabels" -}}
{{- range $key, $_ := index $.Values $value -}}
{{- if or (hasPrefix "quotree.dev/" $key) (has $key (list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart")) -}}
{{- fail (printf "%s has the key %s, which the chart sets itself; leave it out (nameOverride changes app.kubernetes.io/name)" $value $key) -}}
{{- end -}}
{{- if and (eq $value "podLabels") (hasKey $.Values.commonLabels $key) -}}
{{- fail (printf "podLabels has the key %s, which is in commonLabels, too: every pod already has it; leave one out" $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq $webhook.certificates.source "Given") (not $webhook.caBundle) -}}
{{- fail "webhook.certificates.source is Given, but webhook.caBundle is empty: set it to the base64 of the CA that signed tls.crt, or the API server trusts nothing that the webhook answers" -}}
{{- end -}}
{{- if and (not $webhook.deploy) (not $webhook.url) -}}
{{- fail "webhook.deploy is false, but webhook.url is empty: set it to where the webhook runs, such as https://10.0.0.7:9443, or every managed Job and pod is refused" -}}
{{- end -}}
{{- $budget := include "quotree.milliseconds" $webhook.edits.budget | int64 -}}
{{- if ge $budget (mul 1000 (int64 $webhook.quotaTimeoutSeconds)) -}}
{{- fail (printf "webhook.edits.budget is %s, which is not less than webhook.quotaTimeoutSeconds, %ds: the API server would give up before the webhook answers; lower the budget or raise the timeout (at most 30)" $webhook.edits.budget (int64 $webhook.quotaTimeoutSeconds)) -}}
{{- end -}}
{{- $grace := include "quotree.gracePeriodSeconds" . | int64 -}}
{{- if ge (include "quotree.milliseconds" $webhook.drain | int64) (mul 1000 $grace) -}}
{{- fail (printf "webhook.drain is %s, which is not less than the grace period of its pods, %ds: it would be killed while it still answers; lower it" $webhook.drain $grace) -}}
{{- end -}}
{{- end -}}
