{{/*
Where the API server finds the webhook; call with root and path. With callers.by Path the webhook itself writes the path,
which only the API server is told: so it is not in the manifest, and nothing that applies the manifest takes it out.
*/}}
{{- define "quotree.clientConfig" -}}
{{- $path := ternary "" .path (eq .root.Values.webhook.callers.by "Path") }}
{{- if .root.Values.webhook.url }}
{{- $base := trimSuffix "/" .root.Values.webhook.url }}
{{- $url := printf "%s%s" $base $path }}
{{- /* A URL is one field: an upgrade must repeat the path that the webhook wrote into it. */}}
{{- range $kind := ternary (list "MutatingWebhookConfiguration" "ValidatingWebhookConfiguration") (list) (not $path) }}
{{- range (lookup "admissionregistration.k8s.io/v1" $kind "" (include "quotree.fullname" $.root)).webhooks }}
{{- $live := dig "clientConfig" "url" "" . }}
{{- if and (hasPrefix (printf "%s/" $base) $live) (hasSuffix $.path $live) }}{{ $url = $live }}{{ end }}
{{- end }}
{{- end }}
url: {{ $url | quote }}
{{- else }}
service:
  name: {{ include "quotree.fullname" .root }}-webhook
  namespace: {{ .root.Release.Namespace }}
  {{- with $path }}
  path: {{ . }}
  {{- end }}
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
  values: {{ include "quotree.excludedNamespaces" . }}
{{- end -}}

{{- define "quotree.excludedNamespaces" -}}
{{ concat (list "kube-system" "kube-node-lease" "kube-public" .Release.Namespace) .Values.excludedNamespaces | uniq | toJson }}
{{- end -}}

{{/*
Which work is managed, as one webhook entry each: by its own label, by its namespace's label, by its namespace being
opted in; where kinds are governed, also what says that it was made for one of their objects. Disjoint, so that no object
is sent twice. Call with root, resource, group, version, route, phase, kinds, operations: one entry for each of these lists.
An entry for creations alone has no conditions: before it evaluates any, the API server copies the whole object.
*/}}
{{- define "quotree.workWebhooks" -}}
{{- $call := . -}}
{{- $scopes := dict
  "labelled" (dict "object" (list (dict "key" "quotree.dev/group" "operator" "Exists")) "namespace" (list))
  "namespaced" (dict "object" (list (dict "key" "quotree.dev/group" "operator" "DoesNotExist"))
      "namespace" (list (dict "key" "quotree.dev/group" "operator" "Exists")))
  "managed" (dict "object" (list (dict "key" "quotree.dev/group" "operator" "DoesNotExist")) "namespace" (list
      (dict "key" "quotree.dev/group" "operator" "DoesNotExist")
      (dict "key" "quotree.dev/managed" "operator" "In" "values" (list "true")))) -}}
{{- if $call.kinds -}}
{{- $_ := set $scopes "made" (dict
    "object" (list (dict "key" "quotree.dev/group" "operator" "DoesNotExist") (dict "key" "quotree.dev/unit" "operator" "Exists"))
    "namespace" (list
      (dict "key" "quotree.dev/group" "operator" "DoesNotExist")
      (dict "key" "quotree.dev/managed" "operator" "NotIn" "values" (list "true")))) -}}
{{- end -}}
{{- if and (has "kueue" $call.root.Values.dialects) (eq $call.phase "mutate") -}}
{{- /* What is created for Kueue, of which the review says which group its queue means. After that it is labelled. */}}
{{- $queued := list (dict "key" "quotree.dev/group" "operator" "DoesNotExist") (dict "key" "kueue.x-k8s.io/queue-name" "operator" "Exists") -}}
{{- $unmade := ternary (list (dict "key" "quotree.dev/unit" "operator" "DoesNotExist")) list (not (empty $call.kinds)) -}}
{{- $_ := set $scopes "queued" (dict
    "object" (concat $queued $unmade)
    "creates" true
    "namespace" (list
      (dict "key" "quotree.dev/group" "operator" "DoesNotExist")
      (dict "key" "quotree.dev/managed" "operator" "NotIn" "values" (list "true")))) -}}
{{- end -}}
{{- range $scope, $selects := $scopes }}
{{- range $operations := ternary (list (list "CREATE")) $call.operations (hasKey $selects "creates") }}
{{- $updates := has "UPDATE" $operations }}
{{- $resize := and $updates (eq $call.resource "pods") (eq $call.phase "validate") }}
- name: {{ $scope }}{{ if not (has "CREATE" $operations) }}-updates{{ end }}.{{ $call.route }}.quotree.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  matchPolicy: Equivalent
  {{- if eq $call.phase "mutate" }}
  reinvocationPolicy: IfNeeded
  {{- end }}
  timeoutSeconds: {{ $call.root.Values.webhook.timeoutSeconds }}
  clientConfig: {{- include "quotree.clientConfig" (dict "root" $call.root "path" (printf "/%s/%s" $call.phase $call.route)) | nindent 4 }}
  rules:
    - apiGroups: [{{ $call.group | quote }}]
      apiVersions: [{{ $call.version }}]
      operations: {{ $operations | toJson }}
      resources: [{{ $call.resource }}{{ if $resize }}, pods/resize{{ end }}]
      scope: Namespaced
  namespaceSelector:
    matchExpressions:
      {{- include "quotree.namespaceExclusions" $call.root | nindent 6 }}
      {{- with $selects.namespace }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  objectSelector:
    matchExpressions: {{- toYaml $selects.object | nindent 6 }}
  {{- if $updates }}
  matchConditions:
    # The reconciler places what it starts by itself, and nothing it writes is judged. What Kubernetes' own controllers
    # change about existing work is never a quota matter. They resize no pod: an autoscaler does, at a tenant's wish, from
    # whatever namespace it runs in.
    - name: created-or-changed-by-others
      expression: >-
        request.operation == 'CREATE' || (request.userInfo.username != {{ include "quotree.reconcilerUser" $call.root | squote }}
        && {{ if $resize }}(has(request.subResource) && request.subResource == 'resize' || {{ end -}}
        !(request.userInfo.username.startsWith('system:serviceaccount:kube-system:')
        || request.userInfo.username.startsWith('system:node:')
        || request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler'])){{ if $resize }}){{ end }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The entries for the scale subresource of kinds that are held; call with root and kinds. What is sent has no labels, so
these entries see objects that nobody manages, too: where the namespace does not say that its work is managed, they do
not fail closed. No matchConditions: it is Kubernetes' own autoscaler that scales, at a tenant's wish.
*/}}
{{- define "quotree.scaleWebhooks" -}}
{{- $call := . -}}
{{- $managed := dict "key" "quotree.dev/managed" "operator" "In" "values" (list "true") -}}
{{- $unmanaged := merge (dict "operator" "NotIn") $managed -}}
{{- $inGroup := dict "key" "quotree.dev/group" "operator" "Exists" -}}
{{- $inNone := dict "key" "quotree.dev/group" "operator" "DoesNotExist" -}}
{{- $scopes := dict "namespaced" (list $inGroup) "managed" (list $inNone $managed) "labelled" (list $inNone $unmanaged) -}}
{{- range $scope, $namespace := $scopes }}
- name: {{ $scope }}.scales.quotree.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: {{ ternary "Ignore" "Fail" (eq $scope "labelled") }}
  matchPolicy: Equivalent
  timeoutSeconds: {{ $call.root.Values.webhook.timeoutSeconds }}
  clientConfig: {{- include "quotree.clientConfig" (dict "root" $call.root "path" "/validate/scales") | nindent 4 }}
  rules:
    {{- range $call.kinds }}
    - apiGroups: [{{ .group | quote }}]
      apiVersions: [{{ .version }}]
      operations: [UPDATE]
      resources: [{{ .resource }}/scale]
      scope: Namespaced
    {{- end }}
  namespaceSelector:
    matchExpressions:
      {{- include "quotree.namespaceExclusions" $call.root | nindent 6 }}
      {{- toYaml $namespace | nindent 6 }}
  objectSelector: {}
{{- end }}
{{- end -}}

{{/* The entries for all work; call with root and phase. */}}
{{- define "quotree.allWorkWebhooks" -}}
{{- $kinds := include "quotree.kinds" .root | fromYaml -}}
{{- $call := dict "root" .root "phase" .phase "kinds" $kinds.held -}}
{{- $each := dict "operations" (list (list "CREATE") (list "UPDATE")) -}}
{{- include "quotree.workWebhooks" (merge (dict "group" "batch" "version" "v1" "resource" "jobs" "route" "jobs") $each $call) }}
{{- include "quotree.workWebhooks" (merge (dict "group" "" "version" "v1" "resource" "pods" "route" "pods") $each $call) }}
{{- $gated := ternary $kinds.gated (list) (eq .phase "validate") -}}
{{- /* One entry for both: the selectors of every entry are compared with every write in the cluster. */}}
{{- $both := dict "operations" (list (list "CREATE" "UPDATE")) -}}
{{- range concat $kinds.held $kinds.made $gated -}}
{{- include "quotree.workWebhooks" (merge (pick . "group" "version" "resource" "route") $both $call) }}
{{- end -}}
{{- if and $kinds.held (eq .phase "validate") -}}
{{- include "quotree.scaleWebhooks" (dict "root" .root "kinds" $kinds.held) }}
{{- end -}}
{{- end -}}
