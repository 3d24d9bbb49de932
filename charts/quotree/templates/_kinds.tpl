{{- define "quotree.integrations" -}}
{{- $presets := list -}}
{{- range .Values.integrations }}{{ $presets = append $presets (dict "preset" .) }}{{ end -}}
{{- $presets | toYaml -}}
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

{{/* What a process may do with objects of these kinds; call with kinds and verbs. */}}
{{- define "quotree.kindRules" -}}
{{- range .kinds }}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .resource }}]
  verbs: {{ $.verbs | toJson }}
{{- end }}
{{- end -}}

{{/* .spec.runPolicy.suspend as CEL that leads nowhere where a member is absent. */}}
{{- define "quotree.optionalPath" -}}
{{- range splitList "." (trimPrefix "." (trimSuffix "}" (trimPrefix "{" .))) }}.?{{ . }}{{ end -}}
{{- end -}}

{{/* Texts as a CEL list. */}}
{{- define "quotree.celList" -}}
[{{ range $index, $each := . }}{{ if $index }}, {{ end }}{{ squote $each }}{{ end }}]
{{- end -}}

{{/*
The metadata of all pod templates of a Job or of an object of these kinds, as a CEL list; call with object ("object" or
"oldObject") and kinds. Paths with an index or more than one [*] are left out: pods made from those templates are judged.
*/}}
{{- define "quotree.templateMetadata" -}}
{{- $plain := "^[.][A-Za-z0-9._-]+$" -}}
{{- range $kind := .kinds -}}
{{- $found := list -}}
{{- range $set := $kind.podSets -}}
{{- $at := dig "inject" "labels" ".metadata.labels" $set | trimSuffix ".labels" -}}
{{- $template := printf "%s%s" ($set.template | default ".template") $at -}}
{{- if or $set.within $set.templateNamedBy (not (regexMatch $plain $template)) -}}
{{- else if not $set.each -}}
{{- $found = append $found (printf "[%s%s.orValue({})]" $.object (include "quotree.optionalPath" $template)) -}}
{{- else if and (hasSuffix "[*]" $set.each) (regexMatch $plain (trimSuffix "[*]" $set.each)) -}}
{{- $all := printf "%s%s.orValue([])" $.object (include "quotree.optionalPath" (trimSuffix "[*]" $set.each)) -}}
{{- $each := printf "(type(%s) == map ? %s.map(k, %s[k]) : %s)" $all $all $all $all -}}
{{- $found = append $found (printf "%s.map(e, e%s.orValue({}))" $each (include "quotree.optionalPath" $template)) -}}
{{- end -}}
{{- end -}}
{{ printf "request.resource.group == %s && request.resource.resource == %s" (squote $kind.group) (squote $kind.resource) -}}
{{ printf " ? %s : " (ternary "[]" (join " + " $found) (empty $found)) }}
{{- end -}}
[{{ .object }}.?spec.?template.?metadata.orValue({})]
{{- end -}}

{{/* Whether a Job or an object of these kinds is suspended, as CEL; call with object ("object" or "oldObject") and kinds. */}}
{{- define "quotree.isSuspended" -}}
{{- range .kinds -}}
{{ printf "request.resource.group == %s && request.resource.resource == %s" (squote .group) (squote .resource) -}}
{{ printf " ? %s%s.orValue(false) : " $.object (include "quotree.optionalPath" .suspend) }}
{{- end -}}
has({{ .object }}.spec.suspend) && {{ .object }}.spec.suspend
{{- end -}}
