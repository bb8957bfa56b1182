{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Several operators share the names of the step metrics: each rule names the job of this one. */}}
{{- define "operator.alerts" -}}
{{- $of := printf "namespace=%q,job=%q" .Release.Namespace (printf "%s-metrics" (include "operator.fullname" .)) -}}
- alert: NovaComputeOperatorNotLeading
  expr: absent(nova_compute_operator_leading{ {{- $of -}} } == 1)
  for: 5m
  labels: {severity: critical}
  annotations:
    summary: No operator of NovaComputes leads
    description: >-
      No pass runs over any pool: nodes neither join nor drain. Pods and servers are not touched by this. Look at the log
      of the operator, and at the Lease nova.openstack.c5c3.io.
- alert: NovaComputeOperatorPassesFail
  expr: sum(rate(nova_compute_operator_passes_total{ {{- $of -}} ,outcome=~"failed|timeout"}[15m])) > 0
  for: 30m
  labels: {severity: warning}
  annotations:
    summary: Passes over NovaComputes fail
    description: >-
      For half an hour passes have ended with an error or at their deadline. The log line "Pass ended" of the operator names
      the pool, the step and the message.
- alert: NovaComputeOperatorStepFails
  expr: >-
    sum by (sub_reconciler, condition_type)
    (rate(nova_operator_reconcile_errors_total{ {{- $of -}} }[15m])) > 0
  for: 30m
  labels: {severity: warning}
  annotations:
    summary: 'The step {{ "{{ $labels.sub_reconciler }}" }} of NovaComputes fails'
    description: >-
      The condition {{ "{{ $labels.condition_type }}" }} of a pool names the call that fails.
- alert: NovaComputeOperatorPassesLate
  expr: >-
    histogram_quantile(0.9, sum by (le)
    (rate(nova_compute_operator_pass_lateness_seconds_bucket{ {{- $of -}} }[15m]))) > 60
  for: 15m
  labels: {severity: warning}
  annotations:
    summary: Passes over NovaComputes begin late
    description: >-
      One pass in ten begins more than a minute after it was due. Give the operator more processors, or raise
      controller.maxConcurrentReconciles.
- alert: NovaComputeNodeDrainsLong
  expr: >-
    max by (exported_namespace, pool)
    (nova_compute_operator_nodes{ {{- $of -}} ,phase="Draining"}) > 0
  for: 24h
  labels: {severity: warning}
  annotations:
    summary: 'A node of {{ "{{ $labels.exported_namespace }}/{{ $labels.pool }}" }} has been draining for a day'
    description: >-
      A drain ends when Nova counts no server on the host; a pool moves none and never gives up. The ledger in the pool's
      status.nodes tells the node and how many servers are left.
- alert: NovaComputeNodeConflict
  expr: >-
    max by (exported_namespace, pool)
    (nova_compute_operator_nodes{ {{- $of -}} ,phase="Conflict"}) > 0
  for: 15m
  labels: {severity: warning}
  annotations:
    summary: 'Two pools select a node of {{ "{{ $labels.exported_namespace }}/{{ $labels.pool }}" }}'
    description: The condition NodesReady of the pool names the node and the pool that holds it.
- alert: NovaComputeOperatorWatchSilent
  expr: max by (kind) (nova_compute_operator_watch_age_seconds{ {{- $of -}} }) > 240
  for: 5m
  labels: {severity: warning}
  annotations:
    summary: 'The watch of {{ "{{ $labels.kind }}" }} is silent'
    description: Changes are noticed at the next look only. The log of the operator says what the API server answers.
{{- end }}
