{{/* How long Kubernetes waits for a process that was told to stop. */}}
{{- define "quotree.gracePeriodSeconds" -}}40{{- end -}}

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

{{/* Asked on the health port: whether it runs, and whether it can serve. */}}
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

{{/* How the replicas of one component are spread; call with root and component. */}}
{{- define "quotree.spread" -}}
{{- with .root.Values.topologySpreadConstraints -}}
topologySpreadConstraints:
{{- $own := dict "labelSelector" (dict "matchLabels" (include "quotree.selector" $ | fromYaml)) -}}
{{- range . }}
  - {{ ternary . (merge (deepCopy .) $own) (hasKey . "labelSelector") | toYaml | nindent 4 | trim }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
"true" where the API server must reach a component at its node's address; call with root and component. The ports of the
container are then ports of the node.
*/}}
{{- define "quotree.hostNetwork" -}}
{{- $values := .root.Values -}}
{{- if or (and (eq .component "webhook") $values.webhook.hostNetwork) (and (eq .component "reconciler") $values.visibility.enabled $values.visibility.hostNetwork) -}}
true
{{- end -}}
{{- end -}}

{{/* One process of Quotree; call with root, component and args. */}}
{{- define "quotree.deployment" -}}
{{- $root := .root -}}{{- $values := index $root.Values .component -}}
{{- $hostNetwork := include "quotree.hostNetwork" . -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "quotree.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "quotree.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    quotree.dev/process: {{ .component }}
spec:
  replicas: {{ $values.replicas }}
  selector:
    matchLabels: {{- include "quotree.selector" . | nindent 6 }}
  strategy:
    # With two replicas one of them goes first: a surge on a full cluster would preempt the users' pods for a moment. On the
    # host network always, because the ports of its node are taken until it is gone.
    rollingUpdate: {{ if or $hostNetwork (gt (int $values.replicas) 1) }}{maxUnavailable: 1, maxSurge: 0}{{ else }}{maxUnavailable: 0, maxSurge: 1}{{ end }}
  template:
    metadata:
      labels:
        {{- include "quotree.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{- with $root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        # A changed setting is a new pod: the processes read their file once.
        checksum/settings: {{ include (printf "quotree.%s.settings" .component) $root | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "quotree.fullname" $root }}-{{ .component }}
      terminationGracePeriodSeconds: {{ include "quotree.gracePeriodSeconds" $root }}
      securityContext: {{- include "quotree.podSecurity" $root | nindent 8 }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- if $hostNetwork }}
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      {{- with include "quotree.spread" . }}
      {{- . | nindent 6 }}
      {{- end }}
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
            {{- if and (eq .component "reconciler") $root.Values.recording.enabled }}
            - {name: recording, mountPath: /var/lib/quotree/recording}
            {{- end }}
      volumes:
        {{- if and (eq .component "reconciler") $root.Values.recording.enabled }}
        - name: recording
          {{- $root.Values.recording.volume | default (dict "emptyDir" dict) | toYaml | nindent 10 }}
        {{- end }}
        {{- if and (eq .component "webhook") (eq $values.callers.by "Certificate") }}
        - name: callers
          secret:
            secretName: {{ required "webhook.callers.clientCASecret must name the Secret with ca.crt when callers.by is Certificate" $values.callers.clientCASecret }}
            items: [{key: ca.crt, path: ca.crt}]
        {{- end }}
        - name: settings
          configMap: {name: {{ include "quotree.fullname" $root }}-{{ .component }}}
        - name: tmp
          emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- end -}}

{{/* What every component has beside its Deployment; call with root and component. */}}
{{- define "quotree.companions" -}}
{{- $root := .root -}}{{- $values := index $root.Values .component -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "quotree.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "quotree.labels" $root | nindent 4 }}
  {{- with $root.Values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "quotree.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "quotree.labels" $root | nindent 4 }}
    quotree.dev/process: {{ .component }}
data:
  {{ .component }}.yaml: |
    {{- include (printf "quotree.%s.settings" .component) $root | nindent 4 }}
{{- if gt (int $values.replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "quotree.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "quotree.labels" $root | nindent 4 }}
spec:
  minAvailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "quotree.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
