// The project of an operator, as what ships it needs it.

import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {groupOfVersion, kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import {readManifests, type NamedObject} from '#src/plane/manifests/read.js';
import {projectFacts, type ProjectFacts} from './facts.js';
import {imageReference, imageText, withVersion, type ImageReference} from './image.js';
import {isA, naming, projectObjects} from './objects.js';

export type Workload = NamedObject & ObjectOf<typeof kinds.deployments>;
export type Definition = NamedObject & ObjectOf<typeof kinds.customResourceDefinitions>;
export type Container = NonNullable<NonNullable<Workload['spec']>['template']['spec']>['containers'][number];

/** What the flags of the command say; empty text is not given. */
export interface PackageChoices {
  readonly version: string;
  readonly image: string;
}

/** The project of an operator. */
export interface OperatorProject {
  readonly facts: ProjectFacts;
  readonly namespace: string;
  readonly image: ImageReference;
  /** Its objects in the order in which they are applied; the workload has the image. */
  readonly objects: readonly NamedObject[];
  readonly workload: Workload;
  /** Objects of its kinds, to try. */
  readonly examples: readonly NamedObject[];
}

/** Returns the project in a folder. Throws an error of one line for what is missing or cannot be used. */
export const operatorProject = (folder: string, {version, image: given}: PackageChoices): OperatorProject => {
  const facts = projectFacts(folder, version);
  const {namespace, objects: read} = projectObjects(folder, facts.name);
  const [workload, ...others] = read.filter(each => isA(each, kinds.deployments as Kind)) as Workload[];
  const container = workload && operatorContainer(workload);
  if (!workload || others.length > 0 || !container)
    throw new Error(
      `the manifests must have one Deployment with a container, that of the operator, and not ${others.length + (workload ? 1 : 0)}`,
    );
  const own = imageReference(container.image ?? '', `the image of the Deployment ${workload.metadata.name}`);
  const image = withVersion(given ? imageReference(given, '--image') : own, facts.version);
  const shipped = withContainer(workload, {...container, image: imageText(image)});
  const objects = read.map(each => (each === workload ? shipped : each));
  return {facts, namespace, image, objects, workload: shipped, examples: examplesIn(folder, objects)};
};

/** The container of the operator: the first. */
export const operatorContainer = ({spec}: Workload): Container | undefined => spec?.template.spec?.containers[0];

/** Returns the workload with another container of the operator. */
export const withContainer = (workload: Workload, container: Container): Workload => {
  const {spec} = workload;
  const template = spec!.template;
  const [, ...others] = template.spec!.containers;
  return {...workload, spec: {...spec!, template: {...template, spec: {...template.spec!, containers: [container, ...others]}}}};
};

export const definitionsOf = (objects: readonly NamedObject[]): Definition[] =>
  objects.filter(object => isA(object, kinds.customResourceDefinitions as Kind)) as Definition[];

/** The objects of `example.yaml` that are of the project's kinds. */
const examplesIn = (folder: string, objects: readonly NamedObject[]): NamedObject[] => {
  const path = join(folder, 'example.yaml');
  if (!existsSync(path)) return [];
  const definitions = definitionsOf(objects);
  return readManifests([path])
    .map(({object}) => object)
    .filter(({apiVersion, kind}) => definitions.some(({spec}) => spec.names.kind === kind && spec.group === groupOfVersion(apiVersion)));
};

const webhookKinds = [kinds.mutatingWebhookConfigurations, kinds.validatingWebhookConfigurations] as readonly Kind[];

/** Whether an object configures admission webhooks. */
export const configuresWebhooks = (object: NamedObject): boolean => webhookKinds.some(kind => isA(object, kind));

type ClientConfig = NonNullable<NonNullable<NonNullable<Definition['spec']['conversion']>['webhook']>['clientConfig']>;

/** The names of the Services by which the API server calls the objects' webhooks. */
export const webhookServices = (objects: readonly NamedObject[]): ReadonlySet<string> => {
  const configs = objects.flatMap(object => [
    ...((object as {webhooks?: readonly {readonly clientConfig: ClientConfig}[]}).webhooks ?? []).map(hook => hook.clientConfig),
    ...definitionsOf([object]).map(({spec}) => spec.conversion?.webhook?.clientConfig),
  ]);
  return new Set(configs.flatMap(config => (config?.service?.name ? [config.service.name] : [])));
};

/** The label of the objects of one purpose, and its value for those of metrics. */
const component = naming.subKey('app', 'component');

/** Whether an object is only for who reads metrics. */
export const isForMetrics = ({metadata}: NamedObject): boolean => metadata.labels?.[component] === 'metrics';
