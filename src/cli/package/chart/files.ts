// A Helm chart. The names of objects are those of the project, whatever a release is called: its definitions are there
// once in a cluster, and the program knows the names of its Service and its webhook configurations.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import type {NamedObject} from '#src/plane/manifests/read.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {generated} from '#src/cli/package/project/generated.js';
import {inNamespace, isA} from '#src/cli/package/project/objects.js';
import type {OperatorProject} from '#src/cli/package/project/operator-project.js';
import {chartLabels, chartText, helpersText, notesText} from './about.js';
import {deploymentTemplate} from './deployment.js';
import {hasMonitor, metricsService, purposesOf} from './purposes.js';
import {serviceMonitorOf} from './service-monitor.js';
import {indented, Template} from './template-text.js';
import {valuesText} from './values.js';

/** Returns the files of the chart of a project. */
export const chartFiles = (project: OperatorProject): readonly GeneratedFile[] => {
  const templates = new Map<string, string>();
  const {conditionsOf} = purposesOf(project);
  for (const object of chartedObjects(project)) {
    const name = fileOf(object);
    templates.set(name, `${templates.get(name) ?? generated}${templateOf(object, project, conditionsOf(object))}`);
  }
  const file = (name: string, text: string): GeneratedFile => ({name: `chart/${name}`, text});
  return [
    file('Chart.yaml', `${generated}${chartText(project.facts)}`),
    file('values.yaml', `${generated}${valuesText(project)}`),
    file('templates/_helpers.tpl', helpersText(project)),
    file('templates/NOTES.txt', notesText(project)),
    ...[...templates].map(([name, text]) => file(`templates/${name}`, text)),
  ];
};

/** The objects of a chart: Helm makes the namespace. */
const chartedObjects = (project: OperatorProject): readonly NamedObject[] => {
  const charted = project.objects.filter(object => !isA(object, kinds.namespaces as Kind));
  const service = hasMonitor(project) ? undefined : metricsService(project);
  return service ? [...charted, serviceMonitorOf(service, project)] : charted;
};

const fileOf = (object: NamedObject): string =>
  isA(object, kinds.customResourceDefinitions as Kind)
    ? `crds/${object.metadata.name}.yaml`
    : `${object.kind.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()}.yaml`;

/** Returns the template of an object, in the namespace of the release, with labels of the release. */
const templateOf = (object: NamedObject, project: OperatorProject, conditions: readonly string[]): string => {
  const {objects, facts, workload} = project;
  const template = new Template();
  const drawn = object.metadata.name === workload.metadata.name && isA(object, kinds.deployments as Kind);
  const written = drawn ? deploymentTemplate(project, template) : withAccount(object, project, template);
  // The others tell which names are those of the chart.
  const others = objects.filter(each => each !== object);
  const [placed] = inNamespace([written as NamedObject, ...others], {of: project.namespace, to: template.value('.Release.Namespace')});
  const {labels = {}, annotations, ...metadata} = placed!.metadata;
  const own = Object.entries(labels).filter(([key]) => !chartLabels.includes(key));
  const shown = {
    ...placed,
    metadata: {
      ...metadata,
      labels: template.lines(indent => [
        `${indent}labels:`,
        `${indent}  {{- include "${facts.name}.labels" . | nindent ${indent.length + 2} }}`,
        ...(own.length > 0 ? indented(yamlText(Object.fromEntries(own)), `${indent}  `) : []),
      ]),
      annotations: annotationsOf(object, annotations, project, template),
    },
  };
  return template.text(shown, conditions);
};

const isAccount = (object: {readonly kind?: unknown; readonly name?: unknown}, {workload}: OperatorProject): boolean =>
  object.kind === 'ServiceAccount' && object.name === workload.spec!.template.spec!.serviceAccountName;

/** The service account has the name of the values, and bindings refer to it by that. */
const withAccount = (object: NamedObject, project: OperatorProject, template: Template): NamedObject => {
  const name = template.value(`include "${project.facts.name}.serviceAccountName" .`);
  if (isAccount({kind: object.kind, name: object.metadata.name}, project)) return {...object, metadata: {...object.metadata, name}};
  const {subjects} = object as {subjects?: readonly {readonly kind: string; readonly name: string}[]};
  if (!subjects) return object;
  // Put into the namespace here: the name is no longer one of the objects'.
  const namespace = template.value('.Release.Namespace');
  return {...object, subjects: subjects.map(each => (isAccount(each, project) ? {...each, name, namespace} : each))} as NamedObject;
};

type Annotations = Readonly<Record<string, string>> | undefined;

const annotationsOf = (object: NamedObject, own: Annotations, project: OperatorProject, template: Template): unknown => {
  const lines = own && Object.keys(own).length > 0 ? yamlText(own) : '';
  const under = (condition: string, text: readonly string[]) =>
    template.lines(indent => {
      const inner = [...(lines ? indented(lines, `${indent}  `) : [])];
      const guarded = [`${indent}  {{- ${condition} }}`, ...text.map(line => `${indent}  ${line}`), `${indent}  {{- end }}`];
      if (lines) return [`${indent}annotations:`, ...inner, ...guarded];
      return [`${indent}{{- ${condition} }}`, `${indent}annotations:`, ...text.map(line => `${indent}  ${line}`), `${indent}{{- end }}`];
    });
  if (isA(object, kinds.customResourceDefinitions as Kind)) return under('if .Values.crds.keep', ['helm.sh/resource-policy: keep']);
  if (isAccount({kind: object.kind, name: object.metadata.name}, project))
    return under('with .Values.serviceAccount.annotations', ['{{- toYaml . | nindent 4 }}']);
  return own;
};
