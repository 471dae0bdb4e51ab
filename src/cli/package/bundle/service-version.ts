import type {NamedObject} from '#src/plane/manifests/read.js';
import type {ProjectFacts} from '#src/cli/package/project/facts.js';
import {imageText} from '#src/cli/package/project/image.js';
import {definitionsOf, type Definition, type OperatorProject} from '#src/cli/package/project/operator-project.js';
import {jsonText} from '#src/base/json/json.js';
import {bundleRights} from './rights.js';
import {bundledWorkload, webhookDefinitions} from './webhooks.js';

/** Returns the ClusterServiceVersion of a project. Throws an error of one line for what it cannot express. */
export const serviceVersion = (project: OperatorProject): object => {
  const {facts, image, examples} = project;
  const name = `${facts.name}.v${facts.version}`.toLowerCase().replaceAll('+', '-');
  if (name.length > 63) throw new Error(`the name of the bundle would be ${name}, which is longer than 63 characters: shorten the version`);
  const hooks = webhookDefinitions(project);
  return {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: {
      name,
      annotations: {
        'alm-examples': jsonText(examples.map(withoutNamespace), 2),
        capabilities: 'Basic Install',
        containerImage: imageText(image),
        description: facts.description,
        ...(facts.repository ? {repository: facts.repository} : {}),
      },
    },
    spec: {
      ...describedBy(facts),
      version: facts.version,
      maturity: 'alpha',
      // The rights are those of all namespaces.
      installModes: [{type: 'AllNamespaces', supported: true}],
      customresourcedefinitions: {owned: definitionsOf(project.objects).flatMap(ownedVersions)},
      install: {strategy: 'deployment', spec: installation(project)},
      ...(hooks.length > 0 ? {webhookdefinitions: hooks} : {}),
    },
  };
};

const withoutNamespace = ({metadata, ...object}: NamedObject): object => {
  const {namespace: _, ...others} = metadata;
  return {...object, metadata: others};
};

const describedBy = ({
  displayName,
  description,
  keywords,
  author,
  homepage,
  repository,
  icon,
  oldestKubernetes,
  name,
}: ProjectFacts): object => {
  const links = [...(homepage ? [{name: 'Home page', url: homepage}] : []), ...(repository ? [{name: 'Source', url: repository}] : [])];
  return {
    displayName,
    description,
    provider: {name: author?.name ?? name, ...(author?.url ? {url: author.url} : {})},
    ...(keywords.length > 0 ? {keywords} : {}),
    ...(author?.email ? {maintainers: [{name: author.name, email: author.email}]} : {}),
    ...(links.length > 0 ? {links} : {}),
    ...(icon?.file ? {icon: [{base64data: icon.file.base64, mediatype: icon.file.mediaType}]} : {}),
    ...(oldestKubernetes ? {minKubeVersion: oldestKubernetes} : {}),
  };
};

/** A definition is owned in each of its versions that is served. */
const ownedVersions = ({metadata, spec}: Definition): readonly object[] =>
  spec.versions
    .filter(({served}) => served)
    .map(({name: version, schema}) => {
      const description = schema?.openAPIV3Schema?.description;
      return {
        name: metadata.name,
        kind: spec.names.kind,
        version,
        displayName: spec.names.kind.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' '),
        description: description ?? `${spec.names.kind} of ${spec.group}`,
      };
    });

const installation = (project: OperatorProject): object => {
  const {namespaceRules, clusterRules} = bundleRights(project);
  const workload = bundledWorkload(project);
  const serviceAccountName = workload.spec!.template.spec!.serviceAccountName ?? 'default';
  const {labels} = workload.metadata;
  return {
    deployments: [{name: workload.metadata.name, ...(labels ? {label: labels} : {}), spec: workload.spec}],
    ...(namespaceRules.length > 0 ? {permissions: [{serviceAccountName, rules: namespaceRules}]} : {}),
    ...(clusterRules.length > 0 ? {clusterPermissions: [{serviceAccountName, rules: clusterRules}]} : {}),
  };
};
