{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Short enough that every suffix of this chart still fits into 63 characters. */}}
{{- define "operator.fullname" -}}
{{- $name := include "operator.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "operator.labels" -}}
{{ include "operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "operator.fullname" .) }}
{{- else }}
{{- required "serviceAccount.name: name the account to use, or let the chart create one" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "operator.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "operator.webhookSecret" -}}
{{ include "operator.fullname" . }}-webhook-cert
{{- end }}

{{/* Where the server looks for tls.crt and tls.key. */}}
{{- define "operator.webhookFolder" -}}
/tmp/k8s-webhook-server/serving-certs
{{- end }}

{{/* What no schema can say: values that do not go together. */}}
{{- define "operator.validate" -}}
{{- if and .Values.rbac.namespaceScoped .Values.webhook.enabled }}
{{- fail "rbac.namespaceScoped needs webhook.enabled=false: webhook configurations are objects of the cluster" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) }}
{{- fail "replicas above 1 need leaderElection.enabled=true: two operators would run passes over the same pool" }}
{{- end }}
{{- if and .Values.webhook.certManager.issuerRef (not .Values.webhook.certManager.enabled) }}
{{- fail "webhook.certManager.issuerRef needs webhook.certManager.enabled=true" }}
{{- end }}
{{- end }}
