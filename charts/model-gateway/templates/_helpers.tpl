{{/*
Fills in what the values lack, as after `helm upgrade --reuse-values` from a chart that had fewer. Each template begins with it,
because Helm renders them in no fixed order; the first one does it for all, because their values are the same map. Doing it
fifty times took longer than the rest of the rendering.
*/}}
{{- define "model-gateway.defaults" -}}
{{- if not (hasKey .Values "isFilledIn") -}}
{{- $defaults := .Files.Get "files/defaults.yaml" | fromYaml -}}
{{- include "model-gateway.fillIn" (list .Values $defaults) -}}
{{- include "model-gateway.applyDeprecated" (list .Values.gateway.extproc $defaults.gateway.extproc) -}}
{{- $_ := set .Values "isFilledIn" true -}}
{{- end -}}
{{- end -}}

{{/* Deprecated names of values of gateway.extproc, and their replacements (docs/versioning.md). */}}
{{- define "model-gateway.deprecated" -}}
leaseLeastUsd: leaseMinUsd
leaseMostUsd: leaseMaxUsd
mostBodyMib: maxBodyMib
mostOpenRequests: maxOpenRequests
{{- end -}}

{{/* Applies a value under its deprecated name unless its replacement is set. Takes a list: values, their defaults. */}}
{{- define "model-gateway.applyDeprecated" -}}
{{- $values := index . 0 -}}
{{- $defaults := index . 1 -}}
{{- range $old, $new := include "model-gateway.deprecated" . | fromYaml -}}
{{- $isSet := not (kindIs "invalid" (get $values $old)) -}}
{{- if and (hasKey $values $old) $isSet (eq (toString (get $values $new)) (toString (get $defaults $new))) -}}
{{- $_ := set $values $new (get $values $old) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes a list: values, their defaults. Maps whose keys are the administrator's own are filled in whole or not at all. */}}
{{- define "model-gateway.fillIn" -}}
{{- $values := index . 0 -}}
{{- range $key, $default := index . 1 -}}
{{- if not (hasKey $values $key) -}}
{{- $_ := set $values $key $default -}}
{{- else if and (kindIs "map" $default) (kindIs "map" (get $values $key)) (not (has $key (list "resources" "labels"))) -}}
{{- include "model-gateway.fillIn" (list (get $values $key) $default) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The release's name for objects; room is left for the longest suffix. */}}
{{- define "model-gateway.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimAll "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimAll "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimAll "-" -}}
{{- end -}}
{{- end -}}

{{/*
Cluster-wide objects, and those in other namespaces: two releases of one name may live in two namespaces. No namespace contains a
dot, so release b-c in namespace a and release c in namespace a-b have different objects.
*/}}
{{- define "model-gateway.clusterName" -}}
{{- printf "%s.%s" .Release.Namespace (include "model-gateway.fullname" .) -}}
{{- end -}}

{{/* Aggregated ClusterRoles, which are the same in every release. People may have bound them by this name. */}}
{{- define "model-gateway.aggregatedName" -}}
{{- printf "%s-%s" .Release.Namespace (include "model-gateway.fullname" .) -}}
{{- end -}}

{{/* What selects a component's pods. Takes a list: the root, the component. */}}
{{- define "model-gateway.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimAll "-" | quote }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of a component's objects. Takes a list: the root, the component and, optionally, more labels. */}}
{{- define "model-gateway.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
  "app.kubernetes.io/part-of" "model-gateway"
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_")) -}}
{{- $selector := include "model-gateway.selector" . | fromYaml -}}
{{- $more := ternary (last .) dict (gt (len .) 2) -}}
{{- toYaml (merge dict $selector $own $more $root.Values.commonLabels) -}}
{{- end -}}

{{/* Labels of a component's pods: nothing that changes with each release. Takes a list: the root, the component and, optionally, more labels. */}}
{{- define "model-gateway.podLabels" -}}
{{- $more := ternary (last .) dict (gt (len .) 2) -}}
{{- toYaml (merge dict (include "model-gateway.selector" . | fromYaml) $more (index . 0).Values.commonLabels) -}}
{{- end -}}

{{/* Takes a list: the root, an image, and the tag to use if the image names none. */}}
{{- define "model-gateway.imageOf" -}}
{{- $image := index . 1 -}}
{{- $host := first (splitList "/" $image.repository) -}}
{{- $namesHost := and (contains "/" $image.repository) (or (contains "." $host) (contains ":" $host) (eq $host "localhost")) -}}
{{- $registry := ternary "" (default $image.registry (index . 0).Values.global.imageRegistry) $namesHost -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default (index . 2) $image.tag }}
{{- end -}}
{{- end -}}

{{- define "model-gateway.image" -}}
{{ include "model-gateway.imageOf" (list . .Values.image .Chart.AppVersion) }}
{{- end -}}

{{/* A pod's imagePullSecrets, where there are any. */}}
{{- define "model-gateway.imagePullSecrets" -}}
{{- with concat .Values.global.imagePullSecrets .Values.imagePullSecrets | uniq -}}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* The name of a component's ServiceAccount. Takes a list: the root, the component. */}}
{{- define "model-gateway.serviceAccountName" -}}
{{- $root := index . 0 -}}
{{- $account := (index $root.Values (index . 1)).serviceAccount -}}
{{- $own := include "model-gateway.fullname" $root -}}
{{- if ne (index . 1) "gateway" -}}
{{- $own = printf "%s-%s" $own (index . 1) -}}
{{- end -}}
{{- default (ternary $own "default" $account.create) $account.name -}}
{{- end -}}

{{/* Whether OpenShift chooses the pods' users; empty if it does not. */}}
{{- define "model-gateway.isOpenshift" -}}
{{- $isOpenshift := .Values.openshift.enabled -}}
{{- if eq (toString $isOpenshift) "auto" -}}
{{- $isOpenshift = .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- end -}}
{{- ternary "true" "" $isOpenshift -}}
{{- end -}}

{{- /* Processes of extproc in a pod. auto: one for each core that its CPU limit, else its request, begins; two at least (docs/decisions/0053). */ -}}
{{- define "model-gateway.extproc.workers" -}}
{{- $extproc := .Values.gateway.extproc -}}
{{- if ne (toString $extproc.workers) "auto" -}}
{{- int $extproc.workers -}}
{{- else -}}
{{- $cpu := toString (dig "limits" "cpu" (dig "requests" "cpu" 1 $extproc.resources) $extproc.resources) -}}
{{- $cores := float64 (trimSuffix "m" $cpu) -}}
{{- if hasSuffix "m" $cpu -}}
{{- $cores = divf $cores 1000 -}}
{{- end -}}
{{- min 64 (max 2 (int (ceil $cores))) -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.extproc.listen" -}}
{{- $addresses := list -}}
{{- range $worker := until (int (include "model-gateway.extproc.workers" .)) -}}
{{- $addresses = append $addresses (printf "127.0.0.1:%d" (add 9010 $worker)) -}}
{{- end -}}
{{- join "," $addresses -}}
{{- end -}}

{{- define "model-gateway.operator.host" -}}
{{ include "model-gateway.fullname" . }}-operator.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "model-gateway.servicePort" -}}
{{ .Values.gateway.service.port | int | default (ternary 443 80 .Values.tls.enabled) }}
{{- end -}}

{{/* What clients are configured with, without /v1. */}}
{{- define "model-gateway.baseUrl" -}}
{{- if .Values.publicBaseUrl -}}
{{ trimSuffix "/" .Values.publicBaseUrl }}
{{- else -}}
{{ ternary "https" "http" .Values.tls.enabled }}://{{ include "model-gateway.fullname" . }}.{{ .Release.Namespace }}.svc:{{ include "model-gateway.servicePort" . }}
{{- end -}}
{{- end -}}

{{- define "model-gateway.pepperSecret" -}}
{{ default (printf "%s-key-pepper" (include "model-gateway.fullname" .)) .Values.pepper.existingSecret }}
{{- end -}}

{{- define "model-gateway.tlsSecret" -}}
{{ default (printf "%s-tls" (include "model-gateway.fullname" .)) .Values.tls.existingSecret }}
{{- end -}}

{{/* Who makes the certificates with which Envoy, operator and dashboard know each other: existing, cert-manager, or own. */}}
{{- define "model-gateway.internalTls.source" -}}
{{- $certManager := .Values.internalTls.certManager.enabled -}}
{{- if kindIs "invalid" $certManager -}}
{{- $certManager = and .Values.tls.enabled .Values.tls.certManager.enabled -}}
{{- end -}}
{{- if .Values.internalTls.existingSecrets.gateway -}}existing
{{- else if $certManager -}}cert-manager
{{- else -}}own
{{- end -}}
{{- end -}}

{{/* Components that have one, by a comma. */}}
{{- define "model-gateway.internalTls.parts" -}}
{{- ternary "gateway,operator,dashboard" "gateway,operator" .Values.dashboard.enabled -}}
{{- end -}}

{{/* Holds the authorities that the chart makes. */}}
{{- define "model-gateway.internalTls.authoritySecret" -}}
{{ include "model-gateway.fullname" . }}-internal-ca
{{- end -}}

{{/* What the part's certificate is made out to. Takes a list: the root, the component. */}}
{{- define "model-gateway.internalTls.host" -}}
{{ include "model-gateway.fullname" (index . 0) }}-{{ index . 1 }}.{{ (index . 0).Release.Namespace }}.svc
{{- end -}}

{{/* A component's certificate for that. Takes a list: the root, the component. */}}
{{- define "model-gateway.internalTls.secret" -}}
{{- $root := index . 0 -}}
{{- /* Names of their own: a Secret that two makers fight over would be neither's. */ -}}
{{- $kind := ternary "internal-tls" "internal" (eq (include "model-gateway.internalTls.source" $root) "own") -}}
{{- default (printf "%s-%s-%s" (include "model-gateway.fullname" $root) $kind (index . 1)) (index $root.Values.internalTls.existingSecrets (index . 1)) -}}
{{- end -}}

{{/* What the operator renews, by a comma: use:secret:host. */}}
{{- define "model-gateway.internalTls.renewed" -}}
{{- $entries := list -}}
{{- range $part := splitList "," (include "model-gateway.internalTls.parts" .) -}}
{{- $use := ternary "client" "server" (eq $part "gateway") -}}
{{- $secret := include "model-gateway.internalTls.secret" (list $ $part) -}}
{{- $entries = append $entries (printf "%s:%s:%s" $use $secret (include "model-gateway.internalTls.host" (list $ $part))) -}}
{{- end -}}
{{- join "," $entries -}}
{{- end -}}

{{- define "model-gateway.internalTls.mount" -}}
- { name: internal-tls, mountPath: /etc/internal-tls, readOnly: true }
{{- end -}}

{{/* Takes a list: the root, the component. */}}
{{- define "model-gateway.internalTls.volume" -}}
- name: internal-tls
  secret:
    secretName: {{ include "model-gateway.internalTls.secret" . | quote }}
{{- end -}}

{{/* The Secret and key that hold the database's address. */}}
{{- define "model-gateway.databaseSecretRef" -}}
{{- if .Values.postgres.enabled -}}
name: {{ include "model-gateway.fullname" . }}-postgres
key: uri
{{- else -}}
name: {{ .Values.database.existingSecret | quote }}
key: {{ .Values.database.key | quote }}
{{- end -}}
{{- end -}}

{{/* How any of the product's programs reaches Postgres. */}}
{{- define "model-gateway.databaseEnv" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      {{- include "model-gateway.databaseSecretRef" . | nindent 6 }}
{{- include "model-gateway.databaseTlsEnv" . }}
{{- end -}}

{{- define "model-gateway.databaseTlsEnv" -}}
{{- with .Values.database.tls.mode }}
- name: PGSSLMODE
  value: {{ . }}
{{- end }}
{{- /* For the database alone: what Node trusts for it would also be trusted for model servers. */ -}}
{{- if and .Values.database.tls.caSecret (not (has .Values.database.tls.mode (list "disable" "no-verify"))) }}
- name: PGSSLROOTCERT
  value: /etc/database-ca/{{ .Values.database.tls.caKey }}
{{- end }}
{{- if include "model-gateway.trustedCaVolume" . }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/trusted-ca/{{ .Values.trustedCa.key }}
{{- end }}
{{- end -}}

{{- define "model-gateway.trustedCaVolume" -}}
{{- if .Values.trustedCa.configMap -}}
configMap:
  name: {{ .Values.trustedCa.configMap | quote }}
{{- else if .Values.trustedCa.secret -}}
secret:
  secretName: {{ .Values.trustedCa.secret | quote }}
{{- end -}}
{{- end -}}

{{- define "model-gateway.pepperEnv" -}}
- name: KEY_PEPPER
  valueFrom:
    secretKeyRef:
      name: {{ include "model-gateway.pepperSecret" . | quote }}
      key: {{ .Values.pepper.key | quote }}
{{- end -}}

{{- define "model-gateway.providerKeysSecret" -}}
{{ default (printf "%s-provider-keys" (include "model-gateway.fullname" .)) .Values.providerKeys.existingSecret }}
{{- end -}}

{{/* For the operator alone: whoever has it can read the keys. */}}
{{- define "model-gateway.providerKeysEnv" -}}
- name: PROVIDER_KEYS_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ include "model-gateway.providerKeysSecret" . | quote }}
      key: {{ .Values.providerKeys.key | quote }}
- { name: PROVIDER_KEYS_MAX_CLUSTERS, value: {{ .Values.providerKeys.maxClusters | quote }} }
{{- end -}}

{{- define "model-gateway.programMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.database.tls.caSecret }}
- name: database-ca
  mountPath: /etc/database-ca
  readOnly: true
{{- end }}
{{- if include "model-gateway.trustedCaVolume" . }}
- name: trusted-ca
  mountPath: /etc/trusted-ca
  readOnly: true
{{- end }}
{{- end -}}

{{- define "model-gateway.programVolumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- if .Values.database.tls.caSecret }}
- name: database-ca
  secret:
    secretName: {{ .Values.database.tls.caSecret | quote }}
{{- end }}
{{- with include "model-gateway.trustedCaVolume" . }}
- name: trusted-ca
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of every pod: the restricted pod security standard. Takes a list: the root, the image's user. */}}
{{- define "model-gateway.podSecurity" -}}
runAsNonRoot: true
{{- if not (include "model-gateway.isOpenshift" (index . 0)) }}
runAsUser: {{ index . 1 }}
runAsGroup: {{ index . 1 }}
fsGroup: {{ index . 1 }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "model-gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where a component's pods run. Takes a list: the root, the component. */}}
{{- define "model-gateway.scheduling" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
{{- with include "model-gateway.imagePullSecrets" $root }}
{{- . }}
{{ end }}{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "model-gateway.selector" (list $root $component) | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{/* Where Kubernetes resources are watched: namespaces by a comma; none means all. */}}
{{- define "model-gateway.watchNamespaces" -}}
{{- if has "*" .Values.watchNamespaces -}}
{{- else -}}
{{ .Values.watchNamespaces | default (list .Release.Namespace) | uniq | join "," }}
{{- end -}}
{{- end -}}

{{/* What the operator may do with Models and ApiKeys, in the whole cluster: a Role would go with its namespace, before the keys are revoked. */}}
{{- define "model-gateway.operator.clusterRules" -}}
- apiGroups: [modelgateway.dev]
  resources: [models]
  verbs: [get, list, watch]
- apiGroups: [modelgateway.dev]
  resources: [apikeys]
  # patch: the finalizer that revokes a key before its resource is deleted.
  verbs: [get, list, watch, patch]
- apiGroups: [modelgateway.dev]
  resources: [models/status, apikeys/status]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  # Whether another release that manages a Model or an ApiKey is still there.
  verbs: [get]
- apiGroups: [modelgateway.dev]
  resources: [apikeys/finalizers]
  # Who makes a Secret that blocks its owner's deletion needs it where OwnerReferencesPermissionEnforcement is on.
  verbs: [update]
{{- end -}}

{{/* What the operator may do besides in the namespaces that it watches. */}}
{{- define "model-gateway.operator.rules" -}}
- apiGroups: [""]
  resources: [secrets]
  # get: the credentials that Models name. create, patch: the Secrets of ApiKeys. Never list or watch.
  verbs: [get, create, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.operator.backends.inferencePools.enabled }}
- apiGroups: [inference.networking.k8s.io]
  resources: [inferencepools]
  # By the names that Models have.
  verbs: [get]
- apiGroups: [""]
  resources: [services]
  # The pools' endpoint pickers.
  verbs: [get]
- apiGroups: [""]
  resources: [pods]
  # By the labels that the pools select.
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{/* Who among this release's pods. Takes a list: the root, the components. */}}
{{- define "model-gateway.peers" -}}
{{- $root := index . 0 -}}
{{- range index . 1 }}
- podSelector:
    matchLabels:
      {{- include "model-gateway.selector" (list $root .) | nindent 6 }}
{{- end }}
{{- end -}}

{{/* Egress that every component needs: names, and Postgres. */}}
{{- define "model-gateway.commonEgress" -}}
{{- with .Values.networkPolicy.dnsPorts }}
- ports:
    {{- range . }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
- ports:
    - { port: {{ .Values.networkPolicy.postgresPort }}, protocol: TCP }
{{- end -}}

{{/* Where backends of Models may be: what the operator and Envoy go by (operator/address). */}}
{{- define "model-gateway.backends" -}}
{{- $backends := .Values.operator.backends -}}
{{- $ranges := .Files.Get "files/addresses.yaml" | fromYaml -}}
{{- $isOpen := $backends.allowPrivateAddresses -}}
{{- if $isOpen -}}
- namespaceSelector: {}
- ipBlock:
    cidr: fc00::/7
    except: {{ $ranges.ipv6.neverInPrivate | toJson }}
{{ end -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: {{ ternary $ranges.ipv4.never (concat $ranges.ipv4.never $ranges.ipv4.private) $isOpen | toJson }}
- ipBlock:
    cidr: 2000::/3
    except: {{ $ranges.ipv6.neverInPublic | toJson }}
{{- range $backends.allowCidrs }}
- ipBlock:
    cidr: {{ . | quote }}
{{- end }}
{{- range $backends.allowNamespaces }}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Anywhere but the addresses where clouds hand out their machines' credentials. */}}
{{- define "model-gateway.anywhere" -}}
- namespaceSelector: {}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [169.254.0.0/16]
- ipBlock:
    cidr: ::/0
    except: ["fd00:ec2::254/128", "fe80::/10"]
{{- end -}}
