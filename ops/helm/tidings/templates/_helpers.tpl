{{- define "tidings.name" -}}
{{- if contains "tidings" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name | trunc 45 | trimSuffix "-" }}-tidings{{ end }}
{{- end }}

{{- define "tidings.selector" -}}
app.kubernetes.io/name: tidings
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidings.labels" -}}
{{ include "tidings.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tidings.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{- /* The number of pods. Rejects invalid combinations of values here, whichever template is rendered first. */}}
{{- define "tidings.replicas" -}}
{{- if not .Values.existingSecret }}
{{- fail "existingSecret is not set: name a Secret with TIDINGS_SECRET (openssl rand -hex 32) and, but for sqlite, DATABASE_URL" }}
{{- end }}
{{- range $name, $_ := .Values.settings }}
{{- if has $name (list "DATABASE_URL" "OTEL_EXPORTER_OTLP_ENDPOINT" "REDIS_URL" "TIDINGS_DIRECT_URL" "TIDINGS_JWKS" "TIDINGS_KEY" "TIDINGS_OIDC_CLIENT_SECRET" "TIDINGS_PREVIOUS_KEY" "TIDINGS_PREVIOUS_SECRET" "TIDINGS_SECRET") }}
{{- fail (printf "settings.%s is a secret: put it into the Secret %s" $name $.Values.existingSecret) }}
{{- else if has $name (list "TIDINGS_ADMIN_LISTEN" "TIDINGS_LISTEN") }}
{{- fail (printf "settings.%s is set by the chart" $name) }}
{{- end }}
{{- end }}
{{- if eq .Values.database.kind "sqlite" }}
{{- if or .Values.autoscaling.enabled (gt (int (default 1 .Values.replicas)) 1) }}
{{- fail "database.kind is sqlite, which one pod alone can open: leave replicas and autoscaling out, or take postgres or mysql" }}
{{- end }}
{{- end }}
{{- if kindIs "invalid" .Values.replicas }}{{ eq .Values.database.kind "sqlite" | ternary 1 2 }}{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}
