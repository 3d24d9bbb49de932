"""The tree of these tests, an edit of it, and the rights of their users."""

TREE = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 4}}], queueing: {strategy: StrictFIFO}}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: nlp}
spec: {quotas: [{min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: lent}
spec: {quotas: [{min: {memory: 0}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: owed}
spec: {quotas: [{min: {memory: 40Gi}}]}
"""
EDITOR = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tree-editor}
rules:
- {apiGroups: [quotree.dev], resources: [quotagroups], verbs: [get, create, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tree-editor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tree-editor}
subjects: [{kind: User, name: team-a, apiGroup: rbac.authorization.k8s.io}]
"""
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads-all-but-this-api}
rules:
- {apiGroups: [quotree.dev], resources: [quotagroups, resourceflavors], verbs: [list]}
- {apiGroups: [""], resources: [nodes, namespaces, limitranges, pods, configmaps], verbs: [list, get]}
- {apiGroups: [scheduling.k8s.io, node.k8s.io], resources: [priorityclasses, runtimeclasses], verbs: [list]}
- {apiGroups: [batch], resources: [jobs], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads-all-but-this-api}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-all-but-this-api}
subjects: [{kind: User, name: reader, apiGroup: rbac.authorization.k8s.io}]
"""
"""With these rights the command line gets nothing from the API, and computes."""
OWNER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: everything, namespace: team-a}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: everything, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: everything}
subjects: [{kind: User, name: owner-a, apiGroup: rbac.authorization.k8s.io}]
"""
"""All rights in one namespace: the API server lets paths pass that it takes for odd resources of it."""
BY_NAME = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: by-name, namespace: team-b}
rules:
- apiGroups: [visibility.quotree.dev]
  resources: [explanations]
  resourceNames: [hidden-1, "hidden%2D2"]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: by-name, namespace: team-b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: by-name}
subjects: [{kind: User, name: by-name, apiGroup: rbac.authorization.k8s.io}]
"""
"""Rights to two names, one of which is another workload's name if it is decoded once more."""
EDIT = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 4}, max: {cpu: 4}}], queueing: {strategy: StrictFIFO}, stopPolicy: HoldAndDrain}
"""
