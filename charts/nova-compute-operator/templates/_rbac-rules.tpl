{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* What a pass and the watches need in every namespace that has pools. */}}
{{- define "operator.rules" -}}
- apiGroups: [nova.openstack.c5c3.io]
  resources: [novacomputes]
  verbs: [get, list, watch, patch]
- apiGroups: [nova.openstack.c5c3.io]
  resources: [novacomputes/status]
  verbs: [update]
# Asked for by clusters that guard blockOwnerDeletion: a pool owns its DaemonSet, a Nova its discovery Job.
- apiGroups: [nova.openstack.c5c3.io]
  resources: [novacomputes/finalizers, novas/finalizers]
  verbs: [update]
- apiGroups: [nova.openstack.c5c3.io]
  resources: [novas]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, delete]
# The service user's password and the compute contract, which changes without notice; the mirrors of a ControlPlane go
# with the last pool.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- if eq .Values.openstack.reach "proxy" }}
# One verb for each method of a request.
- apiGroups: [""]
  resources: [services/proxy]
  verbs: [get, create, update, delete]
{{- end }}
- apiGroups: [apps]
  resources: [daemonsets]
  verbs: [get, list, watch, create, patch, delete]
# The discovery Job takes its image and its configuration from the Nova's own Deployment.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [autoscaling.k8s.io]
  resources: [verticalpodautoscalers]
  verbs: [list, create, patch, delete]
{{- end }}

{{/* Objects of the cluster: no Role can grant them. */}}
{{- define "operator.clusterRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
- apiGroups: [kvm.cloud.sap]
  resources: [hypervisors]
  verbs: [get, patch]
{{- end }}
