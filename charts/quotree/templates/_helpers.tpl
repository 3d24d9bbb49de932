{{- define "quotree.labels" -}}
app.kubernetes.io/name: quotree
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* How long Kubernetes waits for a process that was told to stop. */}}
{{- define "quotree.gracePeriodSeconds" -}}40{{- end -}}

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
{{- range (lookup "admissionregistration.k8s.io/v1" $kind "" "quotree").webhooks }}
{{- $live := dig "clientConfig" "url" "" . }}
{{- if and (hasPrefix (printf "%s/" $base) $live) (hasSuffix $.path $live) }}{{ $url = $live }}{{ end }}
{{- end }}
{{- end }}
url: {{ $url | quote }}
{{- else }}
service:
  name: quotree-webhook
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
  periodSeconds: 1
startupProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 1
  failureThreshold: 60
{{- end -}}

{{- define "quotree.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "quotree.selector" . | nindent 8 }}
{{- end -}}

{{/*
The kinds that are governed, whole: integrations by name, then `kinds`, which may change a preset. Returns a mapping with
`kinds`: all; `held`: those that can be suspended; `gated`: those whose pods are gated in groups; `made`: further
resources that the operators of `held` make.
*/}}
{{- define "quotree.kinds" -}}
{{- $all := list -}}
{{- $seen := dict -}}
{{- $called := dict "job" "Job of batch" "pod" "Pod" "podgroup" "PodGroup" -}}
{{- range $given := concat (include "quotree.integrations" . | fromYamlArray) .Values.kinds -}}
{{- $kind := $given -}}
{{- with $given.preset -}}
{{- $preset := $.Files.Get (printf "presets/%s.yaml" .) | fromYaml -}}
{{- if not $preset -}}
{{- $names := list -}}
{{- range $path, $_ := $.Files.Glob "presets/*.yaml" }}{{ $names = append $names (base $path | trimSuffix ".yaml") }}{{ end -}}
{{- fail (printf "there is no preset %q; there are %s" . (join ", " $names)) -}}
{{- end -}}
{{- $kind = merge (omit $given "preset") $preset -}}
{{- end -}}
{{- range $key := list "apiVersion" "kind" "resource" -}}
{{- if not (index $kind $key) }}{{ fail (printf "kinds: %s of %s is absent" $key (toJson $given)) }}{{ end -}}
{{- end -}}
{{- $group := first (splitList "/" $kind.apiVersion) -}}
{{- $name := printf "%s.%s" $kind.resource $group -}}
{{- if hasKey $seen $name }}{{ fail (printf "kinds and integrations give %s twice; to change a preset, leave it out of integrations" $name) }}{{ end -}}
{{- $_ := set $seen $name true -}}
{{- if not $kind.through -}}
{{- $word := lower $kind.kind -}}
{{- with get $called $word -}}
{{- fail (printf "kinds: %s of %s and %s are ambiguous: workloads are distinguished by kind and name; leave the entry of one out, and the pods of its objects are governed one by one" $kind.kind $group .) -}}
{{- end -}}
{{- $_ := set $called $word (printf "%s of %s" $kind.kind $group) -}}
{{- end -}}
{{- $all = append $all (merge (dict "group" $group "version" (last (splitList "/" $kind.apiVersion)) "route" $name) $kind) -}}
{{- end -}}
{{- $held := list -}}
{{- $gated := list -}}
{{- range $all }}{{ if .gate }}{{ $gated = append $gated . }}{{ end }}{{ end -}}
{{- $made := list -}}
{{- $own := dict "jobs.batch" true "pods." true -}}
{{- range $all }}{{ if .suspend }}{{ $held = append $held . }}{{ $_ := set $own .route true }}{{ end }}{{ end -}}
{{- range $held -}}
{{- range .children -}}
{{- $group := ternary (first (splitList "/" .apiVersion)) "" (contains "/" .apiVersion) -}}
{{- $name := printf "%s.%s" .resource $group -}}
{{- if not (hasKey $own $name) -}}
{{- $_ := set $own $name true -}}
{{- $made = append $made (dict "group" $group "version" (last (splitList "/" .apiVersion)) "resource" .resource "route" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "kinds" $all "held" $held "gated" $gated "made" $made | toYaml -}}
{{- end -}}

{{- define "quotree.integrations" -}}
{{- $presets := list -}}
{{- range .Values.integrations }}{{ $presets = append $presets (dict "preset" .) }}{{ end -}}
{{- $presets | toYaml -}}
{{- end -}}

{{/* The kinds as both processes read them. */}}
{{- define "quotree.kinds.settings" -}}
{{- $kinds := concat (include "quotree.integrations" . | fromYamlArray) .Values.kinds -}}
{{- if $kinds }}
kinds: {{- toYaml $kinds | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* .spec.runPolicy.suspend as CEL that leads nowhere where a member is absent. */}}
{{- define "quotree.optionalPath" -}}
{{- range splitList "." (trimPrefix "." (trimSuffix "}" (trimPrefix "{" .))) }}.?{{ . }}{{ end -}}
{{- end -}}

{{/* Whether a Job or an object of these kinds is suspended, as CEL; call with object ("object" or "oldObject") and kinds. */}}
{{- define "quotree.isSuspended" -}}
{{- range .kinds -}}
{{ printf "request.resource.group == %s && request.resource.resource == %s" (squote .group) (squote .resource) -}}
{{ printf " ? %s%s.orValue(false) : " $.object (include "quotree.optionalPath" .suspend) }}
{{- end -}}
has({{ .object }}.spec.suspend) && {{ .object }}.spec.suspend
{{- end -}}

{{/* What a process may do with objects of these kinds; call with kinds and verbs. */}}
{{- define "quotree.kindRules" -}}
{{- range .kinds }}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .resource }}]
  verbs: {{ $.verbs | toJson }}
{{- end }}
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
{{- range $scope, $selects := $scopes }}
{{- range $operations := $call.operations }}
{{- $updates := has "UPDATE" $operations }}
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
      resources: [{{ $call.resource }}{{ if and $updates (eq $call.resource "pods") (eq $call.phase "validate") }}, pods/resize{{ end }}]
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
    # change about existing work is never a quota matter.
    - name: created-or-changed-by-others
      expression: >-
        request.operation == 'CREATE' || (request.userInfo.username != {{ include "quotree.reconcilerUser" $call.root | squote }}
        && !(request.userInfo.username.startsWith('system:serviceaccount:kube-system:')
        || request.userInfo.username.startsWith('system:node:')
        || request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler']))
  {{- end }}
{{- end }}
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
{{- end -}}

{{/* One process of Quotree; call with root, component and args. */}}
{{- define "quotree.deployment" -}}
{{- $root := .root -}}{{- $values := index $root.Values .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: quotree-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "quotree.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  replicas: {{ $values.replicas }}
  selector:
    matchLabels: {{- include "quotree.selector" . | nindent 6 }}
  strategy:
    # With two replicas one of them goes first: a surge on a full cluster would preempt the users' pods for a moment.
    rollingUpdate: {{ if gt (int $values.replicas) 1 }}{maxUnavailable: 1, maxSurge: 0}{{ else }}{maxUnavailable: 0, maxSurge: 1}{{ end }}
  template:
    metadata:
      labels:
        {{- include "quotree.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
      annotations:
        # A changed setting is a new pod: the processes read their file once.
        checksum/settings: {{ include (printf "quotree.%s.settings" .component) $root | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: quotree-{{ .component }}
      terminationGracePeriodSeconds: {{ include "quotree.gracePeriodSeconds" $root }}
      securityContext: {{- include "quotree.podSecurity" $root | nindent 8 }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- include "quotree.spread" . | nindent 6 }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "quotree.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          command: [quotree-{{ .component }}]
          args: [--config, /etc/quotree/{{ .component }}.yaml]
          env:
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: POD_NAMESPACE
              valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - {name: health, containerPort: {{ $values.healthPort }}}
            {{- if eq $root.Values.metrics.authorization "Token" }}
            - {name: metrics, containerPort: {{ $root.Values.metrics.port }}}
            {{- end }}
            {{- if eq .component "webhook" }}
            - {name: review, containerPort: {{ $values.port }}}
            {{- end }}
            {{- if eq .component "dashboard" }}
            - {name: page, containerPort: {{ $values.port }}}
            {{- end }}
            {{- if and (eq .component "reconciler") $root.Values.visibility.enabled }}
            - {name: visibility, containerPort: {{ $root.Values.visibility.port }}}
            {{- end }}
          {{- include "quotree.probes" $root | nindent 10 }}
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- include "quotree.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - {name: settings, mountPath: /etc/quotree, readOnly: true}
            - {name: tmp, mountPath: /tmp}
            {{- if and (eq .component "webhook") (eq $values.callers.by "Certificate") }}
            - {name: callers, mountPath: /etc/quotree-callers, readOnly: true}
            {{- end }}
      volumes:
        {{- if and (eq .component "webhook") (eq $values.callers.by "Certificate") }}
        - name: callers
          secret:
            secretName: {{ required "webhook.callers.clientCASecret must name the Secret with ca.crt when callers.by is Certificate" $values.callers.clientCASecret }}
            items: [{key: ca.crt, path: ca.crt}]
        {{- end }}
        - name: settings
          configMap: {name: quotree-{{ .component }}}
        - name: tmp
          emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- end -}}

{{/* What every component has beside its Deployment; call with root and component. */}}
{{- define "quotree.companions" -}}
{{- $root := .root -}}{{- $values := index $root.Values .component -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: quotree-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "quotree.labels" $root | nindent 4 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: quotree-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "quotree.labels" $root | nindent 4 }}
data:
  {{ .component }}.yaml: |
    {{- include (printf "quotree.%s.settings" .component) $root | nindent 4 }}
{{- if gt (int $values.replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: quotree-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "quotree.labels" $root | nindent 4 }}
spec:
  minAvailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "quotree.selector" . | nindent 6 }}
{{- end }}
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

{{/* Who has a component's rights: its service account, or the user it runs as elsewhere; call with root and component. */}}
{{- define "quotree.subjects" -}}
{{- $values := index .root.Values .component -}}
{{- if $values.user }}
- {kind: User, name: {{ $values.user | quote }}, apiGroup: rbac.authorization.k8s.io}
{{- else }}
- {kind: ServiceAccount, name: quotree-{{ .component }}, namespace: {{ .root.Release.Namespace }}}
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
