// A bundle in the format registry+v1, which the Operator Lifecycle Manager installs: a ClusterServiceVersion, which has
// the Deployment with its rights and webhooks, the definitions, and what else it may have beside them.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {GeneratedFile} from '#src/codegen/generated-file.js';
import type {NamedObject} from '#src/plane/manifests/read.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {generated} from '#src/cli/package/project/generated.js';
import {isA} from '#src/cli/package/project/objects.js';
import {configuresWebhooks, webhookServices, type Definition, type OperatorProject} from '#src/cli/package/project/operator-project.js';
import {bundleRights} from './rights.js';
import {serviceVersion} from './service-version.js';
import {bundledDefinition} from './webhooks.js';

/** Kinds that a bundle may have beside its ClusterServiceVersion. */
const allowed: ReadonlySet<string> = new Set([
  'ClusterRole',
  'ClusterRoleBinding',
  'ConfigMap',
  'ConsoleCLIDownload',
  'ConsoleLink',
  'ConsolePlugin',
  'ConsoleQuickStart',
  'ConsoleYAMLSample',
  'CustomResourceDefinition',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'PriorityClass',
  'PrometheusRule',
  'Role',
  'RoleBinding',
  'Secret',
  'Service',
  'ServiceAccount',
  'ServiceMonitor',
  'VerticalPodAutoscaler',
]);

/** Returns the files of the bundle of a project. Throws an error of one line for what a bundle cannot express. */
export const bundleFiles = (project: OperatorProject, channel: string): readonly GeneratedFile[] => {
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(channel))
    throw new Error(`--channel must be such as alpha or stable, not ${JSON.stringify(channel)}`);
  const {name} = project.facts;
  const labels = labelsOf(name, channel);
  const file = (path: string, text: string): GeneratedFile => ({name: path, text});
  return [
    file(`bundle/manifests/${name}.clusterserviceversion.yaml`, `${generated}${yamlText(serviceVersion(project))}`),
    ...bundledObjects(project).map(object => file(`bundle/manifests/${fileOf(object)}`, `${generated}${yamlText(object)}`)),
    file('bundle/metadata/annotations.yaml', `${generated}${yamlText({annotations: labels})}`),
    file('bundle.Dockerfile', dockerfile(labels)),
  ];
};

/** Where the parts of a bundle are: labels of its image, and annotations in it. */
const labelsOf = (name: string, channel: string): Readonly<Record<string, string>> => {
  const prefix = 'operators.operatorframework.io.bundle';
  return {
    [`${prefix}.mediatype.v1`]: 'registry+v1',
    [`${prefix}.manifests.v1`]: 'manifests/',
    [`${prefix}.metadata.v1`]: 'metadata/',
    [`${prefix}.package.v1`]: name,
    [`${prefix}.channels.v1`]: channel,
    [`${prefix}.channel.default.v1`]: channel,
  };
};

const dockerfile = (labels: Readonly<Record<string, string>>): string => `${generated}FROM scratch

${Object.entries(labels)
  .map(([key, value]) => `LABEL ${key}=${value}\n`)
  .join('')}
COPY bundle/manifests /manifests/
COPY bundle/metadata /metadata/
`;

/** Returns the objects beside the ClusterServiceVersion: OLM makes the namespace and what that has in it. */
const bundledObjects = (project: OperatorProject): readonly NamedObject[] => {
  const {objects, workload} = project;
  const {bound} = bundleRights(project);
  const services = webhookServices(objects);
  const account = workload.spec!.template.spec!.serviceAccountName;
  const isIn = (object: NamedObject): boolean =>
    object === workload ||
    bound.includes(object) ||
    configuresWebhooks(object) ||
    isA(object, kinds.namespaces as Kind) ||
    (isA(object, kinds.services as Kind) && services.has(object.metadata.name)) ||
    (isA(object, kinds.serviceAccounts as Kind) && object.metadata.name === account);
  return objects
    .filter(object => !isIn(object))
    .map(object => {
      const {kind, metadata} = object;
      if (!allowed.has(kind)) throw new Error(`a bundle cannot have ${kind} ${metadata.name}: leave olm out of --format`);
      const {namespace, ...others} = metadata;
      if (namespace !== undefined && namespace !== project.namespace)
        throw new Error(`a bundle cannot have ${kind} ${metadata.name} in the namespace ${namespace}: leave olm out of --format`);
      return isA(object, kinds.customResourceDefinitions as Kind)
        ? bundledDefinition(object as Definition, project)
        : {...object, metadata: others};
    });
};

const fileOf = (object: NamedObject): string => {
  const {kind, metadata} = object;
  if (!isA(object, kinds.customResourceDefinitions as Kind)) return `${metadata.name}_${kind.toLowerCase()}.yaml`;
  const {spec} = object as Definition;
  return `${spec.group}_${spec.names.plural}.yaml`;
};
