// The files of a chart that are no objects: Chart.yaml, named templates, and notes.

import type {ProjectFacts} from '#src/cli/package/project/facts.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {isA, naming} from '#src/cli/package/project/objects.js';
import {configuresWebhooks, definitionsOf, isForMetrics, type OperatorProject} from '#src/cli/package/project/operator-project.js';
import type {NamedObject} from '#src/plane/manifests/read.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';

/** Returns the text of Chart.yaml. */
export const chartText = ({
  name,
  version,
  description,
  keywords,
  author,
  license,
  homepage,
  repository,
  icon,
  oldestKubernetes,
}: ProjectFacts): string =>
  yamlText({
    apiVersion: 'v2',
    type: 'application',
    name,
    description,
    version,
    appVersion: version,
    annotations: {'artifacthub.io/operator': 'true', ...(license ? {'artifacthub.io/license': license} : {})},
    ...(keywords.length > 0 ? {keywords} : {}),
    ...(homepage ? {home: homepage} : {}),
    ...(repository ? {sources: [repository]} : {}),
    ...(author ? {maintainers: [author]} : {}),
    ...(icon?.address ? {icon: icon.address} : {}),
    // Clusters of vendors have versions such as 1.31.2-gke.1, which only a range with a suffix includes.
    ...(oldestKubernetes ? {kubeVersion: `>=${oldestKubernetes}-0`} : {}),
  });

/** The labels that the chart gives to each object. */
export const chartLabels: readonly string[] = ['name', 'instance', 'version', 'managed-by'].map(name => naming.subKey('app', name));

const label = (name: string): string => naming.subKey('app', name);

/** Returns the named templates. */
export const helpersText = ({facts: {name}, workload}: OperatorProject): string => `{{- define "${name}.labels" -}}
${label('name')}: {{ .Chart.Name }}
${label('instance')}: {{ .Release.Name }}
${label('version')}: {{ .Chart.AppVersion | quote }}
${label('managed-by')}: {{ .Release.Service }}
{{- end }}

{{- define "${name}.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default "${workload.spec!.template.spec!.serviceAccountName ?? 'default'}" }}
{{- end }}

{{- define "${name}.image" -}}
{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}
`;

/** Returns what Helm prints after an installation. */
export const notesText = (project: OperatorProject): string => {
  const {facts, objects, workload} = project;
  const definitions = definitionsOf(objects);
  const [first] = definitions;
  const reader = objects.find(object => isForMetrics(object) && isA(object, kinds.clusterRoles as Kind) && readsPaths(object));
  const when = (condition: string, lines: readonly string[]): readonly string[] => [`{{- if ${condition} }}`, '', ...lines, '{{- end }}'];
  return [
    `${facts.displayName} {{ .Chart.AppVersion }} runs in the namespace {{ .Release.Namespace }}.`,
    ...definitions.map(({spec}) => `It works on ${spec.names.kind} of ${spec.group}.`),
    '',
    `  kubectl -n {{ .Release.Namespace }} rollout status deployment/${workload.metadata.name}`,
    ...(first ? [`  kubectl get ${first.spec.names.plural}.${first.spec.group} -A`] : []),
    ...(objects.some(configuresWebhooks)
      ? when('not .Values.webhooks.enabled', ['The admission webhooks are off: the API server does not call them.'])
      : []),
    ...(reader
      ? when('.Values.metrics.enabled', [
          'What reads its metrics needs this right:',
          '',
          `  kubectl create clusterrolebinding ${reader.metadata.name} --clusterrole=${reader.metadata.name} --serviceaccount=NAMESPACE:NAME`,
        ])
      : []),
    ...(first ? when('.Values.crds.keep', ['Uninstalling keeps the definitions and the objects of their kinds.']) : []),
    '',
  ].join('\n');
};

const readsPaths = (object: NamedObject): boolean =>
  ((object as {rules?: readonly {readonly nonResourceURLs?: readonly string[]}[]}).rules ?? []).some(
    ({nonResourceURLs}) => nonResourceURLs,
  );
